"""The few calls to a simulator that bringing it back needs, without a client library."""

import http.client
import re
import time
from collections.abc import Mapping
from urllib.parse import quote

from gpufleet_sandbox.errors import SandboxError

_ENVELOPE = (
    '<?xml version="1.0" encoding="UTF-8"?>'
    '<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"'
    ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">'
    "<soapenv:Body>{}</soapenv:Body></soapenv:Envelope>"
)
_PAUSE = 0.01
_LONGEST = 60.0


class PlainSoap:
    """One login to a simulator without TLS."""

    def __init__(self, host: str, port: int, user: str, password: str) -> None:
        """Log in.

        Raises:
            SandboxError: it refuses.
        """
        self._host, self._port = host, port
        self._cookie = ""
        self.ask(
            '<Login xmlns="urn:vim25"><_this type="SessionManager">SessionManager</_this>'
            f"<userName>{user}</userName><password>{password}</password></Login>"
        )

    def post(self, body: bytes, headers: Mapping[str, str]) -> str:
        """Send a whole envelope as this login; the text of the response.

        Raises:
            SandboxError: the response is a fault.
        """
        connection = http.client.HTTPConnection(self._host, self._port, timeout=_LONGEST)
        try:
            known = {"Content-Type": "text/xml", **headers}
            if self._cookie:
                known["Cookie"] = self._cookie
            connection.request("POST", "/sdk", body, known)
            answer = connection.getresponse()
            text = answer.read().decode()
            cookie = answer.getheader("Set-Cookie")
        finally:
            connection.close()
        if answer.status != 200:
            raise SandboxError(f"the simulator answers {answer.status}: {text[:600]}")
        if cookie:
            self._cookie = cookie.split(";")[0]
        return text

    def ask(self, call: str) -> str:
        """One call; the text of the response."""
        return self.post(_ENVELOPE.format(call).encode(), {"SOAPAction": '"urn:vim25/8.0.3.0"'})

    def server_id(self) -> str:
        """The server's own uuid."""
        return _one(
            r"<instanceUuid>([^<]+)<",
            self.ask(
                '<RetrieveServiceContent xmlns="urn:vim25">'
                '<_this type="ServiceInstance">ServiceInstance</_this></RetrieveServiceContent>'
            ),
        )

    def machines(self, datacenter: str) -> dict[str, str]:
        """Reference -> name of the machines in a datacenter's own folder."""
        place = self.ask(
            '<FindByInventoryPath xmlns="urn:vim25"><_this type="SearchIndex">SearchIndex</_this>'
            f"<inventoryPath>{quote(datacenter)}/vm</inventoryPath></FindByInventoryPath>"
        )
        folder = _one(r'<returnval type="Folder">([^<]+)<', place)
        answer = self._properties("Folder", folder, "childEntity")
        found = re.findall(r'type="VirtualMachine"[^>]*>(vm-\d+)<', answer)
        return {machine: self._name(machine) for machine in found}

    def outcome(self, task: str) -> str | None:
        """Result of a task, as XML, once it has ended; None when it failed.

        Raises:
            SandboxError: it has not ended in time, or is unknown.
        """
        deadline = time.monotonic() + _LONGEST
        while time.monotonic() < deadline:
            answer = self._properties("Task", task, "info.state", "info.result")
            state = _one(r"<name>info\.state</name><val[^>]*>(\w+)<", answer)
            if state == "success":
                return answer
            if state == "error":
                return None
            time.sleep(_PAUSE)
        raise SandboxError(f"{task} has not ended after {_LONGEST:.0f} s")

    def _name(self, machine: str) -> str:
        answer = self._properties("VirtualMachine", machine, "name")
        return _one(r"<val[^>]*>([^<]*)<", answer)

    def _properties(self, kind: str, name: str, *paths: str) -> str:
        listed = "".join(f"<pathSet>{path}</pathSet>" for path in paths)
        return self.ask(
            '<RetrievePropertiesEx xmlns="urn:vim25">'
            '<_this type="PropertyCollector">propertyCollector</_this>'
            f"<specSet><propSet><type>{kind}</type>{listed}</propSet>"
            f'<objectSet><obj type="{kind}">{name}</obj></objectSet></specSet><options/>'
            "</RetrievePropertiesEx>"
        )


def task_of(answer: str) -> str:
    """The task that a call began."""
    return _one(r'<returnval type="Task">(task-\d+)<', answer)


def machine_of(outcome: str) -> str:
    """The machine that a task made."""
    return _one(r'type="VirtualMachine"[^>]*>(vm-\d+)<', outcome)


def tasks_of(outcome: str) -> list[str]:
    """The tasks that a task began."""
    return re.findall(r'<task type="Task">(task-\d+)<', outcome)


def _one(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    if found is None:
        raise SandboxError(f"the simulator's answer has no {pattern}: {text[:600]}")
    return found[1]
