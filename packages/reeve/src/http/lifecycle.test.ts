import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Lifecycle } from './lifecycle.ts'

for (const when of ['before', 'after'] as const)
  test(`lifecycle: a hold that begins ${when} the drain calls its listener`, () => {
    const lifecycle = new Lifecycle()
    let calls = 0
    if (when === 'after') lifecycle.drain()
    const hold = lifecycle.hold()
    hold.onOver(() => void (calls += 1))
    if (when === 'before') lifecycle.drain()
    assert.equal(calls, 1)
  })
