import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AGENT_LIMITS } from '../limits.ts'
import { Inbox } from './inbox.ts'

test('texts come out in the order in which they came in, and closing ends the wait', async () => {
  const inbox = new Inbox()
  inbox.put('a')
  inbox.put('b')
  assert.equal(await inbox.next(), 'a')
  assert.equal(await inbox.next(), 'b')
  const waiting = inbox.next()
  inbox.put('c')
  assert.equal(await waiting, 'c')
  const last = inbox.next()
  inbox.close()
  assert.equal(await last, undefined)
  assert.equal(await inbox.next(), undefined)
})

test('an inbox that is full says so', () => {
  const inbox = new Inbox()
  for (let n = 0; n < AGENT_LIMITS.unreadMessagesMax; n += 1) assert.equal(inbox.put('x'), true)
  assert.equal(inbox.put('x'), false)
})
