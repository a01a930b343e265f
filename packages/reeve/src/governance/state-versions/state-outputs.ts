import { parseExactJson } from '@reeve/kit/json.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { UNSEEN, type GovernanceRefusal, type StateVersionRow } from '../../model/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import type { GovernanceContext } from '../context.ts'
import { suffixPart } from '../ids.ts'
import type { StateDigest, StateOutput } from './inspect-state.ts'
import { findState, readStatePart } from './state-versions.ts'

/** An output with its ID, which contains the version and the position in it. */
export interface SeenOutput extends StateOutput {
  readonly id: string
}

const NOTHING: StateDigest = { outputs: [], resources: [] }

/** Returns the parts of a state that were stored when it was uploaded. */
export async function readDigest(
  context: Pick<GovernanceContext, 'store' | 'sealer'>,
  state: StateVersionRow,
): Promise<StateDigest> {
  const bytes = await readStatePart(context, state, 'digest')
  if (bytes === undefined) return NOTHING
  // Written by storeState.
  return parseExactJson(new TextDecoder().decode(bytes)) as StateDigest
}

export async function outputsOf(
  context: Pick<GovernanceContext, 'store' | 'sealer'>,
  state: StateVersionRow,
): Promise<readonly SeenOutput[]> {
  const { outputs } = await readDigest(context, state)
  return outputs.map((output, at) => ({ ...output, id: outputId(state, at) }))
}

function outputId({ id }: StateVersionRow, at: number): string {
  return `wsout-${suffixPart(id)}-${at}`
}

export async function findOutput(
  context: GovernanceContext,
  caller: GovernanceCaller,
  outputIdText: string,
): Promise<Result<SeenOutput, GovernanceRefusal>> {
  const [, suffix] = /^wsout-([^-]+)-\d+$/.exec(outputIdText) ?? []
  const seen = findState(context, caller, { stateId: `sv-${suffix}`, right: 'readOutputs' })
  if (!seen.ok) return seen
  const outputs = await outputsOf(context, seen.value.state)
  const output = outputs.find(({ id }) => id === outputIdText)
  return output === undefined ? err(UNSEEN) : ok(output)
}
