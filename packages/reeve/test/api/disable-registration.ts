import { DEFAULT_SCHEDULER_CONFIGURATION } from '../../src/model/index.ts'
import { put } from '../../src/state/index.ts'
import type { TestServer } from './harness.ts'

export async function disableRegistration({ context }: TestServer): Promise<void> {
  const row = {
    ...DEFAULT_SCHEDULER_CONFIGURATION,
    Name: 'scheduler-configuration',
    RejectJobRegistration: true,
  } as const
  await context.store.commit({
    by: 'system',
    cause: undefined,
    changes: () => [put('settings', row)],
  }).durable
}
