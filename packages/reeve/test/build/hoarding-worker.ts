/** A thread that keeps as many bytes as its task says, and gives the number back. */
import { serveThread } from '../../src/threads/index.ts'

const kept: Uint8Array[] = []

serveThread((bytes: number) => {
  kept.push(new Uint8Array(bytes))
  return bytes
})
