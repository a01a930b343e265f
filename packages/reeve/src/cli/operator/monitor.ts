import { copyBytes } from '../alloc/copy.ts'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { UsageError } from '../failure.ts'
import { taskWriter } from '../output/printable.ts'

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error'] as const

/** `monitor`: follows the log of a server or a node until Ctrl-C. */
export async function runMonitor(invocation: Invocation): Promise<number> {
  const { client, flags, host, signal } = invocation
  const [node, server] = [flags.text('node'), flags.text('server')]
  if (node !== undefined && server !== undefined) {
    throw new UsageError('--node and --server exclude each other.')
  }
  const { data } = await client.open('monitorAgent', {
    query: {
      log_level: flags.oneOf('log-level', LEVELS) ?? 'info',
      node_id: node,
      server_id: server,
      log_json: flags.has('log-json'),
      plain: true,
    },
    signal,
    timeoutMs: 0,
  })
  await copyBytes(data, taskWriter(host))
  return EXIT_CODES.ok
}
