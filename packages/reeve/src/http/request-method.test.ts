import assert from 'node:assert/strict'
import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { test } from 'node:test'
import { isKnownMethod, restoreMethod, routeAsMounted } from './request-normalization.ts'

const cases = [
  { sent: 'GET', routed: 'GET', restored: 'GET' },
  { sent: 'HEAD', routed: 'GET', restored: 'HEAD' },
  { sent: 'POST', routed: 'POST', restored: 'POST' },
  { sent: 'PUT', routed: 'POST', restored: 'PUT' },
  { sent: 'PATCH', routed: 'POST', restored: 'PATCH' },
  { sent: 'DELETE', routed: 'POST', restored: 'DELETE' },
  { sent: 'OPTIONS', routed: 'POST', restored: 'OPTIONS' },
  { sent: 'PROPFIND', routed: 'POST', restored: 'PATCH' },
  { sent: 'constructor', routed: 'POST', restored: 'PATCH' },
]

for (const { sent, routed, restored } of cases)
  test(`request method: ${sent} is routed as ${routed}, and handled as ${restored}`, () => {
    const request = new IncomingMessage(new Socket())
    request.method = sent
    routeAsMounted(request)
    assert.equal(request.method, routed)
    restoreMethod(request)
    assert.equal(request.method, restored)
    assert.equal(isKnownMethod(sent), sent === restored)
  })
