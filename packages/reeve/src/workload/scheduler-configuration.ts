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

/** Maximum number of characters of an unknown algorithm in an error. */
const CHARS_SHOWN_MAX = 64

export interface SchedulerConfigurationResult {
  /** False if the index of the settings is not the expected one. */
  readonly updated: boolean
  readonly index: number
}

/** Replaces all settings; with `cas` only if they have that index. */
export async function writeSchedulerConfiguration(
  { store }: WorkloadContext,
  { by }: Author,
  request: SchedulerConfigurationRequest,
  cas: number | undefined,
): Promise<Result<SchedulerConfigurationResult, Refusal>> {
  const next = canonicalSchedulerConfiguration(request)
  if (!isSchedulerAlgorithm(next.SchedulerAlgorithm))
    return err(
      refusal(
        'invalid-input',
        `invalid scheduler algorithm: ${next.SchedulerAlgorithm.slice(0, CHARS_SHOWN_MAX)}`,
      ),
    )
  const current = findSetting(store.tables, 'scheduler-configuration')?.ModifyIndex ?? 0
  if (cas !== undefined && cas !== current) {
    // Read the index before awaiting; later commits may not be durable yet.
    const { index } = store
    await store.whenDurable()
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

/** Returns the refusal while job registration is disabled for the caller. */
export function checkRegistrationEnabled(store: Store, caller: Caller): Refusal | undefined {
  const { RejectJobRegistration } = schedulerConfiguration(store.tables)
  return RejectJobRegistration && !caller.grants.isManagement ? REGISTRATION_DISABLED : undefined
}
