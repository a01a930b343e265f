import { v1Routes } from '@reeve/contract'
import { err } from '@reeve/kit/result.ts'
import { refusal } from '../../model/index.ts'
import { read, type Endpoint } from './endpoint.ts'
import { allowAll } from './requirements.ts'

/**
 * Returns the routes of `exec-channel.ts`, which answer requests without an upgrade with an error.
 */
export function execEndpoints(): readonly Endpoint[] {
  return [v1Routes.execAllocation, v1Routes.runJobAction].map((route) =>
    read(route, allowAll, () => err(refusal('invalid-input', 'websocket upgrade required'))),
  )
}
