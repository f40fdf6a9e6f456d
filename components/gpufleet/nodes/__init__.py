"""Names that states of stacks made before 0.1.0 hold; nothing else imports them."""
