import assert from 'node:assert/strict'
import { test } from 'node:test'
import { joinChunks, type StringChunks } from '@reeve/kit/string-chunks.ts'
import { WebSocketWriter } from './websocket.ts'

/**
 * A fake socket. It writes each message before `send` returns, and from message `slowFrom` on
 * later.
 */
function aSocket(slowFrom: number) {
  const kept: Uint8Array[] = []
  const wire: string[] = []
  const socket = {
    bufferedAmount: 0,
    send(bytes: Uint8Array, options: object): void {
      assert.deepEqual(options, { binary: false })
      if (wire.length < slowFrom) return void wire.push(textOf(bytes))
      kept.push(bytes)
      socket.bufferedAmount += bytes.length
    },
    /** Returns the messages that the socket sends in the end. */
    sent: (): string[] => [...wire, ...kept.map(textOf)],
  }
  return socket
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('utf8')
}

const MESSAGES: readonly StringChunks[] = [
  '{"kind":"ack"}',
  ['{"a":', '"ü€\u{1f980}"', '}'],
  [],
  ['x'.repeat(100_000), 'y'],
  ['€'.repeat(120_000)],
  ['z'.repeat(500_000)],
  'short again',
]

for (const { name, slowFrom } of [
  { name: 'is fast', slowFrom: Infinity },
  { name: 'is slow', slowFrom: 0 },
  { name: 'becomes slow', slowFrom: 1 },
])
  test(`messages: a socket that ${name} sends the complete message`, () => {
    const sender = new WebSocketWriter()
    const [one, other] = [aSocket(slowFrom), aSocket(Infinity)]
    for (const message of MESSAGES) {
      for (const socket of [one, other]) sender.send(socket, message)
    }
    assert.deepEqual(one.sent(), MESSAGES.map(joinChunks))
    assert.deepEqual(other.sent(), MESSAGES.map(joinChunks))
  })

/** The memory behind what a socket was given, in all. */
function memoryOf(given: readonly Uint8Array[]): number {
  const buffers = new Set(given.map(({ buffer }) => buffer))
  return [...buffers].reduce((sum, { byteLength }) => sum + byteLength, 0)
}

for (const { name, takesAtOnce, memoryMax } of [
  { name: 'takes each message at once', takesAtOnce: true, memoryMax: 512 * 1024 },
  // As with TLS: it takes what it is given a moment later.
  { name: 'takes each message a moment later', takesAtOnce: false, memoryMax: 1_200 * 1_024 },
])
  test(`messages: a socket that ${name} gets buffers of the size of its messages`, () => {
    const sender = new WebSocketWriter()
    const given: Uint8Array[] = []
    const socket = {
      bufferedAmount: 0,
      send(bytes: Uint8Array): void {
        given.push(bytes)
        if (!takesAtOnce) socket.bufferedAmount = bytes.length
      },
    }
    for (let sent = 0; sent < 100; sent++) {
      socket.bufferedAmount = 0
      sender.send(socket, ['x'.repeat(5_000), 'y'.repeat(5_000)])
    }
    assert.ok(memoryOf(given) <= memoryMax, `${memoryOf(given)} bytes`)
  })
