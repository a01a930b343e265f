import type { Constraint, Task } from '@reeve/contract'
import { canonicalSignalName } from '@reeve/kit/signal.ts'

const SIGNALS = '${attr.os.signals}'
const OPERAND = 'set_contains'

/**
 * What tasks want to be told by a signal is placed only where nodes have that signal; a misspelt
 * one is so told by the scheduler, and not by a task that does not stop.
 */
export function withSignals(
  constraints: readonly Constraint[] | null,
  tasks: readonly Task[],
): Constraint[] | null {
  const RTarget = [...new Set(tasks.flatMap(signalsOf))].toSorted().join(',')
  if (RTarget === '' || constraints?.some((one) => isImplied(one, RTarget)) === true)
    return constraints === null ? null : [...constraints]
  return [...(constraints ?? []), { LTarget: SIGNALS, RTarget, Operand: OPERAND }]
}

/** A job that was read and is sent again has it already. */
function isImplied({ LTarget, Operand, RTarget }: Constraint, signals: string): boolean {
  return LTarget === SIGNALS && Operand === OPERAND && RTarget === signals
}

function signalsOf({ KillSignal, Templates }: Task): readonly string[] {
  const changes = (Templates ?? []).filter(({ ChangeMode }) => ChangeMode === 'signal')
  return [KillSignal, ...changes.map(({ ChangeSignal }) => ChangeSignal)]
    .filter((signal) => signal !== '')
    .map(canonicalSignalName)
}
