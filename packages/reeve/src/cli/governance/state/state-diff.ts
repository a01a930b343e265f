import { compareStates, isPlainObject, type PlainObject, type StateChange } from '@reeve/sdk'
import type { CommandContext } from '../../command.ts'
import { EXIT_CODES } from '../../exit-code.ts'
import { CommandError } from '../../failure.ts'
import type { Paint } from '../../output/style.ts'
import {
  findStateVersion,
  downloadState,
  listStateVersions,
  type StateVersion,
} from './find-state.ts'

export async function runStateDiff(invocation: CommandContext): Promise<number> {
  const { args, output } = invocation
  const [workspace = '', from, to] = args
  const newer = await findStateVersion(invocation, workspace, to)
  const older =
    from === undefined
      ? await findPreviousVersion(invocation, workspace, newer)
      : await findStateVersion(invocation, workspace, from)
  const changes = compareStates(
    await readStateObject(invocation, older),
    await readStateObject(invocation, newer),
  )
  const versions = { from: older.id, to: newer.id }
  output.print({ ...versions, changes }, () => {
    const head = `Serial ${older.attributes.serial} -> ${newer.attributes.serial}`
    if (changes.length === 0) return `${head}: no differences.`
    return `${head}:\n${changes.flatMap((one) => changeLines(one, output.paint)).join('\n')}\n`
  })
  return EXIT_CODES.ok
}

/** Finds the version that was current before another one. */
async function findPreviousVersion(
  invocation: CommandContext,
  workspace: string,
  { id }: StateVersion,
): Promise<StateVersion> {
  let isPassed = false
  for await (const one of await listStateVersions(invocation, workspace)) {
    if (isPassed) return one
    isPassed = one.id === id
  }
  throw new CommandError(`Workspace "${workspace}" has only one state version.`)
}

async function readStateObject(
  invocation: CommandContext,
  version: StateVersion,
): Promise<PlainObject> {
  const state: unknown = JSON.parse(await downloadState(invocation, version))
  return isPlainObject(state) ? state : {}
}

const SYMBOLS = { added: '+', removed: '-', changed: '~' } as const

function changeLines(
  { action, address, attributes }: StateChange,
  paint: Paint,
): readonly string[] {
  const lines = attributes.map(({ name, before, after }) =>
    action === 'added' ? `    ${name}: ${after}` : `    ${name}: ${before} -> ${after}`,
  )
  return [`${paint(action, SYMBOLS[action])} ${address}`, ...lines]
}
