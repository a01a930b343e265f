import type { Constraint, Task } from '@reeve/contract'
import { canonicalSignalName } from '@reeve/kit/signal.ts'

const SIGNALS_TARGET = '${attr.os.signals}'
const SIGNALS_OPERAND = 'set_contains'

/**
 * Adds an implied constraint so that tasks naming a signal only run on nodes that support it; a
 * misspelt signal then fails placement instead of making the task unstoppable.
 */
export function withSignalConstraint(
  constraints: readonly Constraint[] | null,
  tasks: readonly Task[],
): Constraint[] | null {
  const RTarget = [...new Set(tasks.flatMap(signalsOf))].toSorted().join(',')
  if (RTarget === '' || constraints?.some((one) => isImplied(one, RTarget)) === true)
    return constraints === null ? null : [...constraints]
  return [...(constraints ?? []), { LTarget: SIGNALS_TARGET, RTarget, Operand: SIGNALS_OPERAND }]
}

/** Reports whether the constraint is present already, as in a job that was read and resubmitted. */
function isImplied({ LTarget, Operand, RTarget }: Constraint, signals: string): boolean {
  return LTarget === SIGNALS_TARGET && Operand === SIGNALS_OPERAND && RTarget === signals
}

function signalsOf({ KillSignal, Templates }: Task): readonly string[] {
  const changes = (Templates ?? []).filter(({ ChangeMode }) => ChangeMode === 'signal')
  return [KillSignal, ...changes.map(({ ChangeSignal }) => ChangeSignal)]
    .filter((signal) => signal !== '')
    .map(canonicalSignalName)
}
