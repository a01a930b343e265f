import { err, ok, type Result } from '@reeve/kit/result.ts'
import { refusal, type Refusal } from '../../model/index.ts'
import { namespacedKey, remove, type Author } from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'

interface ServiceTarget {
  readonly namespace: string
  readonly name: string
  readonly id: string
}

/**
 * Deletes one service registration. Its allocation keeps running, and the agent registers it again
 * with its next full report.
 */
export async function deleteService(
  { store }: WorkloadContext,
  { by }: Author,
  { namespace, name, id }: ServiceTarget,
): Promise<Result<{ readonly index: number }, Refusal>> {
  const key = namespacedKey(namespace, id)
  if (store.tables.service_registrations.find(key)?.ServiceName !== name)
    return err(refusal('service-not-found', 'service registration not found'))
  const { index, durable } = store.commit({
    by,
    cause: 'ServiceDeregistration',
    changes: () => [remove('service_registrations', key)],
  })
  await durable
  return ok({ index })
}
