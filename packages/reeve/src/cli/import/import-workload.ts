import type { Invocation } from '../command.ts'
import { openSource } from './import-source.ts'
import { PEER_NAMES } from './peer-names.ts'
import { readWorkload } from './workload-inventory.ts'
import { planWorkload } from './workload-plan.ts'
import { checkJobs, writeWorkload } from './workload-target.ts'
import { finishImport } from './write-plan.ts'

/** `import workload --from URL`. */
export async function runImportWorkload(invocation: Invocation): Promise<number> {
  const { client, flags } = invocation
  const { client: from } = await openSource(invocation, PEER_NAMES)
  const source = await readWorkload(from, PEER_NAMES)
  const target = await readWorkload(client, PEER_NAMES)
  const plan = planWorkload({
    source,
    target,
    checks: await checkJobs(client, source.jobs),
    overwrite: flags.has('overwrite'),
    start: flags.has('start'),
  })
  return await finishImport(invocation, plan, (write) => writeWorkload(client, write))
}
