import type { SchedulerConfigurationRequest } from '@reeve/contract'
import type { Caller } from '../acl/index.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  canonicalSchedulerConfiguration,
  isSchedulerAlgorithm,
  refusal,
  type Refusal,
} from '../model/index.ts'
import {
  findSetting,
  put,
  schedulerConfiguration,
  type Author,
  type Store,
} from '../state/index.ts'
import type { WorkloadContext } from './context.ts'

/** Characters of an unknown algorithm that the refusal repeats. */
const SHOWN_MAX = 64

export interface SchedulerConfigurationWritten {
  /** False when the settings have another index than the caller enforces. */
  readonly updated: boolean
  readonly index: number
}

/** Replaces the settings as a whole; with `cas` only those of that index. */
export async function writeSchedulerConfiguration(
  { store }: WorkloadContext,
  { by }: Author,
  request: SchedulerConfigurationRequest,
  cas: number | undefined,
): Promise<Result<SchedulerConfigurationWritten, Refusal>> {
  const next = canonicalSchedulerConfiguration(request)
  if (!isSchedulerAlgorithm(next.SchedulerAlgorithm))
    return err(
      refusal(
        'invalid-input',
        `invalid scheduler algorithm: ${next.SchedulerAlgorithm.slice(0, SHOWN_MAX)}`,
      ),
    )
  const current = findSetting(store.tables, 'scheduler-configuration')?.ModifyIndex ?? 0
  if (cas !== undefined && cas !== current) {
    // Read the index before awaiting; later commits may not be durable yet.
    const { index } = store
    await store.settled()
    return ok({ updated: false, index })
  }
  const { index, durable } = store.commit({
    by,
    cause: undefined,
    changes: () => [put('settings', { Name: 'scheduler-configuration', ...next })],
  })
  await durable
  return ok({ updated: true, index })
}

const REGISTRATION_DISABLED: Refusal = refusal(
  'permission-denied',
  'Job registration, dispatch, and scale are disabled by the scheduler configuration',
)

/** Why the caller may not register just now. */
export function checkRegistrationEnabled(store: Store, caller: Caller): Refusal | undefined {
  const { RejectJobRegistration } = schedulerConfiguration(store.tables)
  return RejectJobRegistration && !caller.grants.isManagement ? REGISTRATION_DISABLED : undefined
}
