import assert from 'node:assert/strict'
import { test } from 'node:test'
import { portOf } from './address.ts'

const cases: readonly [string, number][] = [
  ['http://127.0.0.1:4646', 4646],
  ['http://[::1]:4646', 4646],
  ['http://0.0.0.0:80', 80],
  ['https://0.0.0.0:443', 443],
  ['http://0.0.0.0:443', 443],
]

for (const [address, port] of cases)
  test(`the port of ${address} is ${port}`, () => {
    assert.equal(portOf(address), port)
  })
