"""What an installed program makes of its values and configurations; compile asks these rules."""
