"""What a client of MySQL's protocol sends to log in without a password."""
import struct

PROTOCOL_41, SECURE_CONNECTION, PLUGIN_AUTH = 1 << 9, 1 << 15, 1 << 19


def packet(sequence, payload):
    return struct.pack("<I", len(payload))[:3] + bytes([sequence]) + payload


def response(user):
    """The payload of the handshake response."""
    capabilities = PROTOCOL_41 | SECURE_CONNECTION | PLUGIN_AUTH
    return struct.pack("<IIB23x", capabilities, 1 << 24, 45) + user.encode() + b"\0\0mysql_native_password\0"
