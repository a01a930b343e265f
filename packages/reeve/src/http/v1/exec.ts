import { v1Routes } from '@reeve/contract'
import { err } from '@reeve/kit/result.ts'
import { refusal } from '../../model/index.ts'
import { read, type Endpoint } from './endpoint.ts'
import { anyone } from './requirements.ts'

/** What the channels of `exec-channel.ts` answer to a request that does not ask to become one. */
export function execEndpoints(): readonly Endpoint[] {
  return [v1Routes.execAllocation, v1Routes.runJobAction].map((route) =>
    read(route, anyone, () => err(refusal('invalid-input', 'websocket upgrade required'))),
  )
}
