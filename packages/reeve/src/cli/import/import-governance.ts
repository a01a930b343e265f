import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { CommandFailure } from '../failure.ts'
import { readGovernance } from './governance-inventory.ts'
import { planGovernance } from './governance-plan.ts'
import { TargetIds, writeGovernance } from './governance-write.ts'
import { openSource } from './import-source.ts'
import { GOVERNANCE_NAMES, PEER_NAMES } from './peer-names.ts'
import { finishImport } from './write-plan.ts'

/** `import governance --from URL`. */
export async function runImportGovernance(invocation: Invocation): Promise<number> {
  const { client, flags } = invocation
  const from = await openSource(invocation, PEER_NAMES)
  const wanted = flags.texts('organization')
  const source = await readGovernance({ ...from, names: GOVERNANCE_NAMES }, wanted)
  const found = new Set(source.map(({ name }) => name.toLowerCase()))
  const missing = wanted.find((name) => !found.has(name.toLowerCase()))
  if (missing !== undefined)
    throw new CommandFailure(`The source has no organization "${missing}" that its token sees.`, {
      code: EXIT_CODES.missing,
    })
  const names = source.map(({ name }) => name)
  const get = async () => await Promise.resolve(undefined)
  const target =
    names.length === 0 ? [] : await readGovernance({ client, get, names: GOVERNANCE_NAMES }, names)
  const plan = planGovernance({ source, target, overwrite: flags.has('overwrite') })
  const ids = new TargetIds(target)
  return await finishImport(invocation, plan, (write) => writeGovernance(client, ids, write))
}
