import type { Client } from '@reeve/sdk'
import type { Ways } from './command.ts'
import type { ConnectionSettings } from './settings/settings.ts'

/** A client whose calls end with the command. */
export async function connectClient(
  settings: ConnectionSettings,
  ways: Ways,
  signal: AbortSignal,
): Promise<Client> {
  // The client brings every schema of both APIs: help and completion do not wait for it.
  const { createClient } = await import('@reeve/sdk')
  return createClient({
    ...settings,
    ...ways,
    client: 'cli',
    fetch: (url, init) =>
      ways.fetch(url, { ...init, signal: AbortSignal.any([signal, init.signal]) }),
  })
}
