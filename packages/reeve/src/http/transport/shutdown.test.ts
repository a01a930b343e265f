import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GracefulShutdown } from './shutdown.ts'

for (const when of ['before', 'after'] as const)
  test(`shutdown: a wait handle opened ${when} the drain calls its listener`, () => {
    const lifecycle = new GracefulShutdown()
    let calls = 0
    if (when === 'after') lifecycle.drain()
    const hold = lifecycle.openHandle()
    hold.onCancel(() => void (calls += 1))
    if (when === 'before') lifecycle.drain()
    assert.equal(calls, 1)
  })
