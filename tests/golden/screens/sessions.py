# SPDX-License-Identifier: Apache-2.0
"""A program for Python, for golden screens (README.md). Sessions are kept for ever."""
import json
import time

sessions = {}
number = 0
while True:
    time.sleep(0.01)
    number += 1
    text = json.dumps({"number": number, "items": ["%05d" % number] * 100})
    sessions[number] = json.loads(text), text * 2
