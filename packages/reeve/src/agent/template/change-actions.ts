import type { ChangeScript, Template } from '@reeve/contract'
import { msFromNs } from '@reeve/kit/duration.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import type { TaskHookContext } from '../task/task-hook.ts'
import { sleep } from '../wait.ts'

type ChangeContext = Pick<TaskHookContext, 'control' | 'clock' | 'random' | 'signal'>

/**
 * Applies the change modes of changed templates. Several changes act once, after one random splay,
 * and a restart takes precedence.
 */
export async function applyChangeModes(
  changed: readonly Template[],
  context: ChangeContext,
): Promise<void> {
  const actionable = changed.filter(({ ChangeMode }) => ChangeMode !== 'noop')
  if (actionable.length === 0) return
  const splayMs = Math.max(...actionable.map(({ Splay }) => msFromNs(Splay)))
  const { clock, random, signal, control } = context
  if (splayMs > 0 && !(await sleep(clock, splayMs * random.next(), signal))) return
  const isRestart = actionable.some(
    ({ ChangeMode }) => ChangeMode === 'restart' || ChangeMode === '',
  )
  try {
    if (isRestart) {
      await control.restart({ reason: 'Template with change_mode restart re-rendered' })
      return
    }
    for (const name of signalsOf(actionable)) await control.signal(name, 'Template re-rendered')
    for (const script of scriptsOf(actionable)) await runScript(script, context)
  } catch (thrown) {
    // A task that is not running gets the new files with its next start.
    if (thrown instanceof Fault && thrown.kind === 'task-not-running') return
    control.addEvent('Template', `Template change not acted on: ${errorMessage(thrown)}`)
  }
}

function signalsOf(templates: readonly Template[]): ReadonlySet<string> {
  const withSignal = templates.filter(({ ChangeMode }) => ChangeMode === 'signal')
  return new Set(
    withSignal.map(({ ChangeSignal }) => (ChangeSignal === '' ? 'SIGHUP' : ChangeSignal)),
  )
}

function scriptsOf(templates: readonly Template[]): readonly ChangeScript[] {
  return templates.flatMap(({ ChangeMode, ChangeScript: script }) => {
    return ChangeMode === 'script' && script !== null ? [script] : []
  })
}

/** Default timeout of a change script. */
const DEFAULT_SCRIPT_TIMEOUT_MS = 5_000

/**
 * Runs a change script in the task. A failure becomes an event, and kills the task if configured.
 */
export async function runScript(script: ChangeScript, context: ChangeContext): Promise<void> {
  const { control } = context
  const problem = await runScriptOnce(script, context)
  if (problem === undefined) return
  const Message = `Template ran script ${JSON.stringify(script.Command)}: ${problem}`
  if (!script.FailOnError) {
    control.addEvent('Template', Message)
    return
  }
  const cause = { type: 'Template', fields: { Message, FailsTask: true } } as const
  void control.kill({ cause, reason: 'Template script failed', skipShutdownDelay: false })
}

async function runScriptOnce(
  script: ChangeScript,
  { control, clock, signal }: ChangeContext,
): Promise<string | undefined> {
  const timeoutMs = script.Timeout > 0 ? msFromNs(script.Timeout) : DEFAULT_SCRIPT_TIMEOUT_MS
  const cancelTimeout = new AbortController()
  try {
    const command = [script.Command, ...(script.Args ?? [])]
    const session = await control.exec({ command, tty: undefined })
    session.stdin.end()
    session.stdout.resume()
    session.stderr.resume()
    const timeout = sleep(clock, timeoutMs, AbortSignal.any([cancelTimeout.signal, signal]))
    const code = await Promise.race([session.exited, timeout.then(() => undefined)])
    if (code === 0) return undefined
    if (code !== undefined) return `it ended with code ${code}`
    session.hangUp()
    return `it took longer than ${timeoutMs} ms`
  } catch (thrown) {
    return errorMessage(thrown)
  } finally {
    cancelTimeout.abort()
  }
}
