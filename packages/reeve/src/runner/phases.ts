import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { v2 } from '@reeve/contract'
import { Fault } from '@reeve/kit/fault.ts'
import { PHASE_OVER } from './phase-client.ts'
import { readOptional, type Phase, type PhaseResult } from './phase.ts'
import { redactedPlan } from './redacted-plan.ts'
import { StatePush } from './state-push.ts'
import type { ToolResult } from './tool.ts'
import { GENERATED_FILE, LOCK_FILE, PLAN_FILE, STATE_FILE } from './tool-files.ts'
import { unpackConfiguration, writeVariables } from './work-directory.ts'

const PRIVATE = { mode: 0o600 }

/** Exit codes of a plan: without and with changes. */
const PLANNED: ReadonlySet<number | null> = new Set([0, 2])

/** Runs the plan, and stores the files that the apply, policies and users need. */
export async function planPhase(phase: Phase): Promise<PhaseResult> {
  const root = await prepare(phase)
  const initialized = await initialize(phase, root, [])
  if (initialized !== undefined) return initialized
  const planned = await callTool(phase, root, await planArguments(phase))
  if (phase.tool.interruption !== undefined) return CANCELED
  if (!PLANNED.has(planned.code)) return failed('plan', planned)
  const plan = await readOptional(join(root, PLAN_FILE))
  // A crash of the tool has the same exit code as a plan with changes.
  if (plan === undefined) return failed('plan', planned)
  await uploadPlan(phase, root, plan)
  const generated = await readOptional(join(root, GENERATED_FILE))
  const generatedConfiguration = generated !== undefined
  return { outcome: 'finished', message: null, generatedConfiguration }
}

const CANCELED: PhaseResult = { outcome: 'canceled', message: null }

/** Applies the plan, and uploads the state during the apply. */
export async function applyPhase(phase: Phase): Promise<PhaseResult> {
  const { client } = phase
  const root = await prepare(phase)
  const plan = await client.send({ method: 'GET', path: '/files/plan' })
  if (plan === undefined) throw new Fault('no-plan', 'the plan of the run is gone')
  await writeFile(join(root, PLAN_FILE), plan, PRIVATE)
  const lock = await client.send({ method: 'GET', path: '/files/lock-file' })
  if (lock !== undefined) await writeFile(join(root, LOCK_FILE), lock, PRIVATE)
  const initialized = await initialize(phase, root, lock === undefined ? [] : LOCKED)
  // Nothing has been applied yet.
  if (initialized !== undefined) return { ...initialized, stateUncertain: false }
  const statePath = join(root, STATE_FILE)
  const before = (await readOptional(statePath))?.toString('utf8') ?? ''
  const push = new StatePush(statePath, client, before)
  const args = ['apply', '-input=false', ...formatOf(phase), PLAN_FILE]
  const applied = await callTool(phase, root, args)
  const refusal = await push.end().catch(async (thrown: unknown) => {
    if (isOver(thrown)) await attachState(phase, statePath)
    throw thrown
  })
  if (refusal !== undefined) return await keepState(phase, statePath, refusal)
  if (applied.code === 0) return { outcome: 'finished', message: null }
  // The tool was killed without a request: the result of its current operation is in no state.
  const stateUncertain = applied.signal !== null
  const outcome = phase.tool.interruption === undefined ? 'errored' : 'canceled'
  return { ...failed('apply', applied), outcome, stateUncertain }
}

/** If the state could not be stored, it is attached to the run for manual comparison. */
async function keepState(phase: Phase, path: string, refusal: string): Promise<PhaseResult> {
  await attachState(phase, path)
  const message = `The state could not be stored: ${refusal}`
  phase.log.line(`Error: ${message}`)
  return { outcome: 'errored', message: message.slice(0, 1_000), stateUncertain: true }
}

async function attachState({ client }: Phase, path: string): Promise<void> {
  const state = await readOptional(path)
  if (state !== undefined)
    await client.send({ method: 'PUT', path: '/files/errored-state', body: state })
}

/** Reports whether the phase was ended while its runner could not be reached. */
function isOver(thrown: unknown): boolean {
  return thrown instanceof Fault && thrown.kind === PHASE_OVER
}

const LOCKED = ['-lockfile=readonly']

/**
 * Writes the configuration and the state into a directory of the task; returns that of the root
 * module.
 */
async function prepare({ document, client, directory }: Phase): Promise<string> {
  const archive = await client.send({ method: 'GET', path: '/configuration' })
  if (archive === undefined) throw new Fault('no-configuration', 'the configuration is gone')
  const root = await unpackConfiguration(archive, directory, document.workingDirectory)
  const state = await client.send({ method: 'GET', path: '/state' })
  if (state !== undefined) await writeFile(join(root, STATE_FILE), state, PRIVATE)
  return root
}

/**
 * Runs `init`. The first three lines of the log name the executing programs, because clients hide
 * the start of an apply log. Undefined on success.
 */
async function initialize(
  phase: Phase,
  root: string,
  extra: readonly string[],
): Promise<PhaseResult | undefined> {
  const { log, settings, environment, tool } = phase
  const call = { command: settings.tool, args: ['version'], directory: root, environment }
  const version = await tool.run(call)
  const [name = settings.tool, platform = ''] = version.output.split('\n')
  log.line(name)
  log.line(platform)
  log.line(`Initializing ${phase.document.workspace}...`)
  const args = ['init', '-input=false', '-no-color', ...extra]
  const initialized = await tool.run({ ...call, args })
  if (tool.interruption !== undefined) return CANCELED
  if (initialized.code === 0) return undefined
  // The output is logged only on failure.
  log.write(initialized.output)
  log.write(initialized.errors)
  return failed('init', initialized)
}

async function planArguments(phase: Phase): Promise<readonly string[]> {
  const { document, settings } = phase
  return [
    'plan',
    '-input=false',
    '-detailed-exitcode',
    `-out=${PLAN_FILE}`,
    ...formatOf(phase),
    ...modeOf(document),
    ...document.targets.map((address) => `-target=${address}`),
    ...document.replacements.map((address) => `-replace=${address}`),
    ...(document.allowConfigGeneration ? [`-generate-config-out=${GENERATED_FILE}`] : []),
    ...(await writeVariables(document.variables, settings.secretsDirectory)),
  ]
}

function formatOf({ document }: Phase): readonly string[] {
  return document.structuredOutput ? ['-json'] : ['-no-color']
}

function modeOf({ isDestroy, refreshOnly, refresh }: v2.PhaseDocument): readonly string[] {
  if (refreshOnly) return ['-refresh-only']
  return [...(isDestroy ? ['-destroy'] : []), ...(refresh ? [] : ['-refresh=false'])]
}

/** Runs the tool with its output in the log. */
function callTool(phase: Phase, directory: string, args: readonly string[]): Promise<ToolResult> {
  const { tool, settings, environment, log } = phase
  const print = (text: string): void => log.write(text)
  return tool.run({ command: settings.tool, args, directory, environment, print })
}

function failed(step: string, { code, signal }: ToolResult): PhaseResult {
  const how = signal === null ? `with exit code ${code ?? 'none'}` : `by ${signal}`
  return { outcome: 'errored', message: `The ${step} ended ${how}; its log says why` }
}

async function uploadPlan(phase: Phase, root: string, plan: Uint8Array): Promise<void> {
  const { client } = phase
  const json = withChanges(await asked(phase, root, ['show', '-json', PLAN_FILE]))
  const schemas = await asked(phase, root, ['providers', 'schema', '-json'])
  const redacted = redactedPlan(JSON.parse(json), JSON.parse(schemas))
  const put = async (name: v2.RunFileName, body: Uint8Array): Promise<void> => {
    await client.send({ method: 'PUT', path: `/files/${name}`, body })
  }
  await put('plan', plan)
  const lock = await readOptional(join(root, LOCK_FILE))
  if (lock !== undefined) await put('lock-file', lock)
  await put('redacted-plan', Buffer.from(JSON.stringify(redacted)))
  await put('plan-json', Buffer.from(json))
}

/**
 * Adds the list of changes to the export of a plan: the tool leaves it out of a plan that only
 * refreshes. The text is kept, because its numbers may be more precise than those of JavaScript.
 */
function withChanges(json: string): string {
  const hasChanges = Object.hasOwn(Object(JSON.parse(json)), 'resource_changes')
  return hasChanges ? json : json.replace('{', '{"resource_changes":[],')
}

/** Runs the tool and returns its output, which is not logged. */
async function asked(phase: Phase, directory: string, args: readonly string[]): Promise<string> {
  const { tool, settings, environment } = phase
  const result = await tool.run({ command: settings.tool, args, directory, environment })
  if (result.code === 0) return result.output
  throw new Fault('tool-failed', `${args.join(' ')} failed: ${result.errors.slice(0, 500)}`)
}
