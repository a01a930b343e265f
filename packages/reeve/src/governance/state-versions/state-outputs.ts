import { parseExactJson } from '@reeve/kit/json.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { NOT_FOUND, type GovernanceRefusal, type StateVersionRow } from '../../model/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import type { GovernanceContext } from '../context.ts'
import { idSuffixOf } from '../ids.ts'
import type { StateDigest, StateOutput } from './inspect-state.ts'
import { findState, readStatePart } from './state-versions.ts'

/** An output with its ID, which contains the version and the position in it. */
export interface VisibleOutput extends StateOutput {
  readonly id: string
}

const EMPTY_DIGEST: StateDigest = { outputs: [], resources: [] }

/** Returns the parts of a state that were stored when it was uploaded. */
export async function readDigest(
  context: Pick<GovernanceContext, 'store' | 'sealer'>,
  state: StateVersionRow,
): Promise<StateDigest> {
  const bytes = await readStatePart(context, state, 'digest')
  if (bytes === undefined) return EMPTY_DIGEST
  // Written by storeState.
  return parseExactJson(new TextDecoder().decode(bytes)) as StateDigest
}

export async function listStateOutputs(
  context: Pick<GovernanceContext, 'store' | 'sealer'>,
  state: StateVersionRow,
): Promise<readonly VisibleOutput[]> {
  const { outputs } = await readDigest(context, state)
  return outputs.map((output, index) => ({ ...output, id: outputId(state, index) }))
}

function outputId({ id }: StateVersionRow, index: number): string {
  return `wsout-${idSuffixOf(id)}-${index}`
}

export async function findOutput(
  context: GovernanceContext,
  caller: GovernanceCaller,
  outputIdText: string,
): Promise<Result<VisibleOutput, GovernanceRefusal>> {
  const [, suffix] = /^wsout-([^-]+)-\d+$/.exec(outputIdText) ?? []
  const found = findState(context, caller, { stateId: `sv-${suffix}`, right: 'readOutputs' })
  if (!found.ok) return found
  const outputs = await listStateOutputs(context, found.value.state)
  const output = outputs.find(({ id }) => id === outputIdText)
  return output === undefined ? err(NOT_FOUND) : ok(output)
}
