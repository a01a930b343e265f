import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { WebSocket } from 'ws'
import { joinedText, type PartedText } from '../../kit/parted-text.ts'
import { MessageSender } from './message-sender.ts'

/** A socket that keeps what it was given, or has put it on the wire before `send` returns. */
function aSocket(isSlow: boolean) {
  const kept: Uint8Array[] = []
  const wire: string[] = []
  const socket = {
    bufferedAmount: 0,
    send(bytes: Uint8Array, options: object): void {
      assert.deepEqual(options, { binary: false })
      if (!isSlow) return void wire.push(textOf(bytes))
      kept.push(bytes)
      socket.bufferedAmount += bytes.length
    },
    /** What it sends in the end. */
    sent: (): string[] => [...wire, ...kept.map(textOf)],
  }
  return socket
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('utf8')
}

const MESSAGES: readonly PartedText[] = [
  '{"kind":"ack"}',
  ['{"a":', '"ü€\u{1f980}"', '}'],
  [],
  ['x'.repeat(100_000), 'y'],
  ['€'.repeat(120_000)],
  ['z'.repeat(500_000)],
  'short again',
]

for (const isSlow of [false, true])
  test(`messages: a socket that is ${isSlow ? 'slow' : 'fast'} sends what it was given`, () => {
    const sender = new MessageSender()
    const [one, other] = [aSocket(isSlow), aSocket(isSlow)]
    for (const message of MESSAGES) {
      // Of a WebSocket nothing else is used.
      for (const socket of [one, other]) sender.send(socket as unknown as WebSocket, message)
    }
    assert.deepEqual(one.sent(), MESSAGES.map(joinedText))
    assert.deepEqual(other.sent(), MESSAGES.map(joinedText))
  })
