import { CONNECTION_FLAGS } from './command-flags.ts'

/** `reeve options`: lists the flags of all commands. */
export function formatGlobalFlags(): string {
  const width = Math.max(...CONNECTION_FLAGS.map(({ usage }) => usage.length))
  const lines = CONNECTION_FLAGS.map(({ usage, help }) => `  ${usage.padEnd(width)}  ${help}\n`)
  return `All commands that talk to a server accept these flags:\n\n${lines.join('')}`
}
