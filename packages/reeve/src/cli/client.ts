import type { Client } from '@reeve/sdk'
import type { Transport } from './command.ts'
import type { ConnectionSettings } from './settings/settings.ts'

/** Creates an API client whose requests are aborted with the command. */
export async function createCliClient(
  settings: ConnectionSettings,
  ways: Transport,
  signal: AbortSignal,
): Promise<Client> {
  // Loaded on demand: the SDK includes all schemas of both APIs, which help and completion do not
  // need.
  const { createClient } = await import('@reeve/sdk')
  return createClient({
    ...settings,
    ...ways,
    client: 'cli',
    fetch: (url, init) =>
      ways.fetch(url, { ...init, signal: AbortSignal.any([signal, init.signal]) }),
  })
}
