import { createClient, type Client } from '@reeve/sdk'
import type { Tokens } from './tokens.ts'

/** The API client: the SDK with the tokens of this tab. */
export type Api = Client

export function createApi(tokens: Tokens): Api {
  const address = window.location.origin
  const workload = createClient({ address, token: tokens.workload, client: 'web' })
  const governance = createClient({
    address,
    token: tokens.governance ?? tokens.workload,
    client: 'web',
  })
  return { ...workload, v2: governance.v2 }
}
