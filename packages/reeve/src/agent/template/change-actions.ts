import type { ChangeScript, Template } from '@reeve/contract'
import { msFromNs } from '@reeve/kit/duration.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import type { TaskHookContext } from '../task/task-hook.ts'
import { pause } from '../wait.ts'

type ActionContext = Pick<TaskHookContext, 'control' | 'clock' | 'random' | 'signal'>

/**
 * What follows when texts have changed. Several changes act once, after one random wait, and a
 * restart wins over everything else.
 */
export async function applyChangeModes(
  changed: readonly Template[],
  context: ActionContext,
): Promise<void> {
  const acting = changed.filter(({ ChangeMode }) => ChangeMode !== 'noop')
  if (acting.length === 0) return
  const splayMs = Math.max(...acting.map(({ Splay }) => msFromNs(Splay)))
  const { clock, random, signal, control } = context
  if (splayMs > 0 && !(await pause(clock, splayMs * random.next(), signal))) return
  const isRestart = acting.some(({ ChangeMode }) => ChangeMode === 'restart' || ChangeMode === '')
  try {
    if (isRestart) {
      await control.restart({ reason: 'Template with change_mode restart re-rendered' })
      return
    }
    for (const name of signalsOf(acting)) await control.signal(name, 'Template re-rendered')
    for (const script of scriptsOf(acting)) await runScript(script, context)
  } catch (thrown) {
    // A task that does not run right now gets the new texts with its next start.
    if (thrown instanceof Fault && thrown.kind === 'task-not-running') return
    control.tell('Template', `Template change not acted on: ${errorMessage(thrown)}`)
  }
}

function signalsOf(templates: readonly Template[]): ReadonlySet<string> {
  const asked = templates.filter(({ ChangeMode }) => ChangeMode === 'signal')
  return new Set(asked.map(({ ChangeSignal }) => (ChangeSignal === '' ? 'SIGHUP' : ChangeSignal)))
}

function scriptsOf(templates: readonly Template[]): readonly ChangeScript[] {
  return templates.flatMap(({ ChangeMode, ChangeScript: script }) => {
    return ChangeMode === 'script' && script !== null ? [script] : []
  })
}

/** How long a script may take when the job does not say. */
const SCRIPT_MS = 5_000

/** Runs a command inside the task. One that fails is told, and ends the task where it should. */
export async function runScript(script: ChangeScript, context: ActionContext): Promise<void> {
  const { control } = context
  const complaint = await runScriptOnce(script, context)
  if (complaint === undefined) return
  const Message = `Template ran script ${JSON.stringify(script.Command)}: ${complaint}`
  if (!script.FailOnError) {
    control.tell('Template', Message)
    return
  }
  const cause = { type: 'Template', fields: { Message, FailsTask: true } } as const
  void control.kill({ cause, reason: 'Template script failed', skipShutdownDelay: false })
}

async function runScriptOnce(
  script: ChangeScript,
  { control, clock, signal }: ActionContext,
): Promise<string | undefined> {
  const timeoutMs = script.Timeout > 0 ? msFromNs(script.Timeout) : SCRIPT_MS
  const over = new AbortController()
  try {
    const command = [script.Command, ...(script.Args ?? [])]
    const session = await control.exec({ command, tty: undefined })
    session.stdin.end()
    session.stdout.resume()
    session.stderr.resume()
    const late = pause(clock, timeoutMs, AbortSignal.any([over.signal, signal]))
    const code = await Promise.race([session.exited, late.then(() => undefined)])
    if (code === 0) return undefined
    if (code !== undefined) return `it ended with code ${code}`
    session.hangUp()
    return `it took longer than ${timeoutMs} ms`
  } catch (thrown) {
    return errorMessage(thrown)
  } finally {
    over.abort()
  }
}
