// tidy-allow vendor: names of files that the tool itself reads and writes
import { access, mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { isAbsolute, join, normalize } from 'node:path'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { createGunzip } from 'node:zlib'
import type { v2 } from '@reeve/contract'
import { Fault } from '@reeve/kit/fault.ts'
import { readTar, unpack, UnpackBudget } from '../agent/artifact/index.ts'
import { PHASE_OVER, PHASE_REJECTED, type PhaseClient, STATE_UPLOAD_TIMES } from './phase-client.ts'
import type { PhaseLog } from './phase-log.ts'
import { redactPlan } from './redacted-plan.ts'
import type { Tool, ToolResult } from './tool.ts'

const PRIVATE = { mode: 0o600 }

/** Exit codes of a plan: without and with changes. */
const PLAN_EXIT_CODES: ReadonlySet<number | null> = new Set([0, 2])

/** Runs the plan, and stores the files that the apply, policies and users need. */
export async function planPhase(phase: PhaseContext): Promise<PhaseResult> {
  const root = await prepare(phase)
  const initialized = await initialize(phase, root, [])
  if (initialized !== undefined) return initialized
  const planned = await runTool(phase, root, await planArguments(phase))
  if (phase.tool.interruption !== undefined) return CANCELED
  if (!PLAN_EXIT_CODES.has(planned.code)) return toFailure('plan', planned)
  const plan = await readFileIfExists(join(root, PLAN_FILE))
  // A crash of the tool has the same exit code as a plan with changes.
  if (plan === undefined) return toFailure('plan', planned)
  await uploadPlan(phase, root, plan)
  const generated = await readFileIfExists(join(root, GENERATED_FILE))
  const generatedConfiguration = generated !== undefined
  return { outcome: 'finished', message: null, generatedConfiguration }
}

const CANCELED: PhaseResult = { outcome: 'canceled', message: null }

/** Applies the plan, and uploads the state during the apply. */
export async function applyPhase(phase: PhaseContext): Promise<PhaseResult> {
  const { client } = phase
  const root = await prepare(phase)
  const plan = await client.send({ method: 'GET', path: '/files/plan' })
  if (plan === undefined) throw new Fault('no-plan', 'the plan of the run is gone')
  await writeFile(join(root, PLAN_FILE), plan, PRIVATE)
  const lock = await client.send({ method: 'GET', path: '/files/lock-file' })
  if (lock !== undefined) await writeFile(join(root, LOCK_FILE), lock, PRIVATE)
  const initialized = await initialize(phase, root, lock === undefined ? [] : LOCK_FILE_ARGUMENTS)
  // Nothing has been applied yet.
  if (initialized !== undefined) return { ...initialized, stateUncertain: false }
  const statePath = join(root, STATE_FILE)
  const before = (await readFileIfExists(statePath))?.toString('utf8') ?? ''
  const uploader = new StateUploader(statePath, client, before)
  const args = ['apply', '-input=false', ...formatArguments(phase), PLAN_FILE]
  const applied = await runTool(phase, root, args)
  const rejection = await uploader.finish().catch(async (thrown: unknown) => {
    if (isPhaseOver(thrown)) await attachState(phase, statePath)
    throw thrown
  })
  if (rejection !== undefined) return await attachUnstoredState(phase, statePath, rejection)
  if (applied.code === 0) return { outcome: 'finished', message: null }
  // The tool was killed without an interrupt, so the state lacks the result of its current
  // operation.
  const stateUncertain = applied.signal !== null
  const outcome = phase.tool.interruption === undefined ? 'errored' : 'canceled'
  return { ...toFailure('apply', applied), outcome, stateUncertain }
}

/** If the state could not be stored, it is attached to the run for manual comparison. */
async function attachUnstoredState(
  phase: PhaseContext,
  path: string,
  rejection: string,
): Promise<PhaseResult> {
  await attachState(phase, path)
  const message = `The state could not be stored: ${rejection}`
  phase.log.line(`Error: ${message}`)
  return { outcome: 'errored', message: message.slice(0, 1_000), stateUncertain: true }
}

async function attachState({ client }: PhaseContext, path: string): Promise<void> {
  const state = await readFileIfExists(path)
  if (state !== undefined)
    await client.send({ method: 'PUT', path: '/files/errored-state', body: state })
}

/** Reports whether the phase was ended while its runner could not be reached. */
function isPhaseOver(thrown: unknown): boolean {
  return thrown instanceof Fault && thrown.kind === PHASE_OVER
}

const LOCK_FILE_ARGUMENTS = ['-lockfile=readonly']

/**
 * Writes the configuration and the state into a directory of the task; returns that of the root
 * module.
 */
async function prepare({ document, client, directory }: PhaseContext): Promise<string> {
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
  phase: PhaseContext,
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
  return toFailure('init', initialized)
}

async function planArguments(phase: PhaseContext): Promise<readonly string[]> {
  const { document, settings } = phase
  return [
    'plan',
    '-input=false',
    '-detailed-exitcode',
    `-out=${PLAN_FILE}`,
    ...formatArguments(phase),
    ...modeArguments(document),
    ...document.targets.map((address) => `-target=${address}`),
    ...document.replacements.map((address) => `-replace=${address}`),
    ...(document.allowConfigGeneration ? [`-generate-config-out=${GENERATED_FILE}`] : []),
    ...(await writeVariables(document.variables, settings.secretsDirectory)),
  ]
}

function formatArguments({ document }: PhaseContext): readonly string[] {
  return document.structuredOutput ? ['-json'] : ['-no-color']
}

function modeArguments({ isDestroy, refreshOnly, refresh }: v2.PhaseDocument): readonly string[] {
  if (refreshOnly) return ['-refresh-only']
  return [...(isDestroy ? ['-destroy'] : []), ...(refresh ? [] : ['-refresh=false'])]
}

/** Runs the tool with its output in the log. */
function runTool(
  phase: PhaseContext,
  directory: string,
  args: readonly string[],
): Promise<ToolResult> {
  const { tool, settings, environment, log } = phase
  const print = (text: string): void => log.write(text)
  return tool.run({ command: settings.tool, args, directory, environment, print })
}

function toFailure(step: string, { code, signal }: ToolResult): PhaseResult {
  const cause = signal === null ? `with exit code ${code ?? 'none'}` : `by ${signal}`
  return { outcome: 'errored', message: `The ${step} ended ${cause}; its log says why` }
}

async function uploadPlan(phase: PhaseContext, root: string, plan: Uint8Array): Promise<void> {
  const { client } = phase
  const json = withResourceChanges(await toolOutput(phase, root, ['show', '-json', PLAN_FILE]))
  const schemas = await toolOutput(phase, root, ['providers', 'schema', '-json'])
  const redacted = redactPlan(JSON.parse(json), JSON.parse(schemas))
  const put = async (name: v2.RunFileName, body: Uint8Array): Promise<void> => {
    await client.send({ method: 'PUT', path: `/files/${name}`, body })
  }
  await put('plan', plan)
  const lock = await readFileIfExists(join(root, LOCK_FILE))
  if (lock !== undefined) await put('lock-file', lock)
  await put('redacted-plan', Buffer.from(JSON.stringify(redacted)))
  await put('plan-json', Buffer.from(json))
}

/**
 * Adds the list of changes to the export of a plan: the tool leaves it out of a plan that only
 * refreshes. The text is kept, because its numbers may be more precise than those of JavaScript.
 */
function withResourceChanges(json: string): string {
  const hasChanges = Object.hasOwn(Object(JSON.parse(json)), 'resource_changes')
  return hasChanges ? json : json.replace('{', '{"resource_changes":[],')
}

/** Runs the tool and returns its output, which is not logged. */
async function toolOutput(
  phase: PhaseContext,
  directory: string,
  args: readonly string[],
): Promise<string> {
  const { tool, settings, environment } = phase
  const result = await tool.run({ command: settings.tool, args, directory, environment })
  if (result.code === 0) return result.output
  throw new Fault('tool-failed', `${args.join(' ')} failed: ${result.errors.slice(0, 500)}`)
}

/** Settings that the job of a phase passes to its runner. */
export interface RunnerSettings {
  readonly address: string
  readonly phaseId: string
  /** Path of the planning tool. */
  readonly tool: string
  readonly authorities: string
  readonly taskDirectory: string
  readonly secretsDirectory: string
  readonly path: string
}

/** Context of both phases. */
export interface PhaseContext {
  readonly document: v2.PhaseDocument
  readonly client: PhaseClient
  readonly log: PhaseLog
  readonly tool: Tool
  readonly settings: RunnerSettings
  readonly environment: Readonly<Record<string, string>>
  /** Directory into which the configuration is unpacked. */
  readonly directory: string
}

/** Result of a phase, without its log. */
export type PhaseResult = Omit<v2.PhaseFinishRequest, 'logBytes'>

/** Reads a file that may not exist. */
async function readFileIfExists(path: string): Promise<Buffer | undefined> {
  return await readFile(path).catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === 'ENOENT') return undefined
    throw thrown
  })
}

/** Unpacks the configuration and returns the directory of the root module. */
async function unpackConfiguration(
  archive: Uint8Array,
  directory: string,
  workingDirectory: string | null,
): Promise<string> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const tar = Readable.from([archive]).pipe(createGunzip())
  await unpack(readTar(tar), directory, { budget: new UnpackBudget(archive.length) })
  const root = rootModule(directory, workingDirectory)
  await access(root).catch((cause: unknown) => {
    const message = `The configuration has no directory ${workingDirectory ?? '.'}`
    throw new Fault('no-directory', message, { cause })
  })
  await writeFile(join(root, OVERRIDE_FILE), BACKEND_OVERRIDE, PRIVATE)
  return root
}

function rootModule(directory: string, workingDirectory: string | null): string {
  const path = normalize(workingDirectory ?? '.')
  if (isAbsolute(path) || path.split('/').includes('..'))
    throw new Fault('no-directory', `The working directory ${path} leaves the configuration`)
  return join(directory, path)
}

/**
 * Writes the values of input variables to files that override the configuration, and returns the
 * arguments that name them.
 */
async function writeVariables(
  variables: readonly v2.PhaseVariable[],
  directory: string,
): Promise<readonly string[]> {
  const inputs = variables.filter(({ category }) => category === 'input')
  const literals = inputs.filter(({ hcl }) => !hcl)
  const expressions = inputs.filter(({ hcl }) => hcl)
  const files: string[] = []
  const write = async (name: string, content: string): Promise<void> => {
    const path = join(directory, name)
    await writeFile(path, content, PRIVATE)
    files.push(`-var-file=${path}`)
  }
  if (literals.length > 0)
    await write(
      'reeve.tfvars.json',
      JSON.stringify(Object.fromEntries(literals.map(({ key, value }) => [key, value]))),
    )
  if (expressions.length > 0)
    await write('reeve.tfvars', expressions.map(({ key, value }) => `${key} = ${value}\n`).join(''))
  return files
}

/**
 * Stores the state while an apply changes it: the tool rewrites its file after each resource. A
 * lost node loses only the changes of the last seconds.
 */
class StateUploader {
  readonly #path: string
  readonly #client: PhaseClient
  #stored = ''
  #latest = ''
  #latestMs = 0
  #storedMs = Date.now()
  #isFinished = false
  #watching: Promise<void>

  /** `stored` is the state that the server has. */
  constructor(path: string, client: PhaseClient, stored: string) {
    this.#path = path
    this.#client = client
    this.#stored = stored
    this.#watching = this.#watch()
    // `end` reports the error; until then the promise is not awaited.
    this.#watching.catch(() => undefined)
  }

  /** Uploads the final state after the tool has ended. Returns why the server rejected it. */
  async finish(): Promise<string | undefined> {
    this.#isFinished = true
    try {
      await this.#watching
      await this.#upload(await this.#read())
      return undefined
    } catch (thrown) {
      if (thrown instanceof Fault && thrown.kind === PHASE_REJECTED) return thrown.message
      throw thrown
    }
  }

  async #watch(): Promise<void> {
    let fingerprint = ''
    while (!this.#isFinished) {
      await sleep(STATE_UPLOAD_TIMES.lookMs)
      const current = await this.#fingerprint()
      if (current !== fingerprint) {
        fingerprint = current
        this.#latest = await this.#read()
        this.#latestMs = Date.now()
      }
      const nowMs = Date.now()
      const isSettled = nowMs - this.#latestMs >= STATE_UPLOAD_TIMES.restMs
      const isLate = nowMs - this.#storedMs >= STATE_UPLOAD_TIMES.latestMs
      if (isSettled || isLate) await this.#upload(this.#latest)
    }
  }

  async #upload(state: string): Promise<void> {
    if (state === this.#stored || !isCompleteState(state)) return
    await this.#client.send({ method: 'PUT', path: '/state', body: Buffer.from(state) })
    this.#stored = state
    this.#storedMs = Date.now()
  }

  async #fingerprint(): Promise<string> {
    const stats = await stat(this.#path).catch(() => undefined)
    return stats === undefined ? '' : `${stats.mtimeMs}/${stats.size}/${stats.ino}`
  }

  async #read(): Promise<string> {
    return await readFile(this.#path, 'utf8').catch(() => '')
  }
}

/** Reports whether the text is a complete JSON document: the tool may still be writing the file. */
function isCompleteState(text: string): boolean {
  try {
    return text !== '' && typeof JSON.parse(text) === 'object'
  } catch {
    return false
  }
}

const STATE_FILE = 'terraform.tfstate'
const LOCK_FILE = '.terraform.lock.hcl'
const PLAN_FILE = 'reeve.tfplan'
const GENERATED_FILE = 'generated.tf'

/** Replaces the backend of the configuration, so that the state is a local file. */
const BACKEND_OVERRIDE = 'terraform {\n  backend "local" {}\n}\n'
const OVERRIDE_FILE = 'zz_reeve_override.tf'
