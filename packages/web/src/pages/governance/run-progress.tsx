import type { v2 } from '@reeve/contract'
import { Icon } from '../../components/icon.tsx'
import type { StatusStyle } from '../../components/status-badge.tsx'
import { runSteps, type StepState } from './run-steps.ts'

/** The steps of a run from its plan to its apply. */
export function RunProgress({ run }: { readonly run: v2.Run }) {
  return (
    <ol className="run-steps" aria-label="Progress of the run">
      {runSteps(run.attributes).map(({ name, state, text }) => (
        <li key={name} className={`tone-${STYLES[state].tone}`}>
          <Icon name={STYLES[state].icon} /> {name} <small>{text}</small>
        </li>
      ))}
    </ol>
  )
}

const STYLES: Readonly<Record<StepState, StatusStyle>> = {
  upcoming: { tone: 'idle', icon: 'pending' },
  current: { tone: 'busy', icon: 'running' },
  waiting: { tone: 'warn', icon: 'warning' },
  done: { tone: 'good', icon: 'complete' },
  failed: { tone: 'bad', icon: 'failed' },
}
