import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AGENT_LIMITS } from '../limits.ts'
import { MessageQueue } from './session.ts'

test('texts come out in the order in which they came in, and closing ends the wait', async () => {
  const inbox = new MessageQueue()
  inbox.push('a')
  inbox.push('b')
  assert.equal(await inbox.next(), 'a')
  assert.equal(await inbox.next(), 'b')
  const waiting = inbox.next()
  inbox.push('c')
  assert.equal(await waiting, 'c')
  const last = inbox.next()
  inbox.close()
  assert.equal(await last, undefined)
  assert.equal(await inbox.next(), undefined)
})

test('a full queue rejects messages', () => {
  const inbox = new MessageQueue()
  for (let n = 0; n < AGENT_LIMITS.undeliveredMessagesMax; n += 1)
    assert.equal(inbox.push('x'), true)
  assert.equal(inbox.push('x'), false)
})
