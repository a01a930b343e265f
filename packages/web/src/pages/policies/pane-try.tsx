import type { v2 } from '@reeve/contract'
import { useState } from 'react'
import { organizationCan } from '../../actions/governance-can.ts'
import { Editor } from '../../editor/lazy-editor.tsx'
import { ActionButton } from '../../parts/action-button.tsx'
import { Failure } from '../../parts/failure.tsx'
import { Panel } from '../../parts/panel.tsx'
import { StateBadge } from '../../parts/state-badge.tsx'
import { useSession } from '../../session/session.tsx'
import { INPUT_EXAMPLE } from './examples.ts'
import { Findings } from './findings.tsx'
import { readObject } from './read-object.ts'
import type { PaneProps } from './pane-props.ts'

type Trial = v2.PolicyTrial['attributes']

/** Asks the policy, as it is in the editor, about an input. Nothing is stored. */
export function TryPane({ organization, policy, code, isChanged, onFailing }: PaneProps) {
  const { api } = useSession()
  const [input, setInput] = useState(INPUT_EXAMPLE)
  const [trial, setTrial] = useState<Trial>()
  const [error, setError] = useState<unknown>()
  const given = readObject(input)
  const ask = async () => {
    if (!given.ok) return
    const attributes = { ...(isChanged ? { code } : {}), input: given.value }
    const body = { data: { type: 'policy-trials' as const, attributes } }
    try {
      const { data } = await api.v2.tryPolicy({ params: { policy_id: policy.id }, body })
      setError(undefined)
      setTrial(data.data.attributes)
      onFailing(linesOf(data.data.attributes.findings))
    } catch (failure) {
      setTrial(undefined)
      setError(failure)
    }
  }
  return (
    <>
      <Panel
        title="Input"
        isFlush
        actions={
          <ActionButton
            kind="primary"
            refusal={
              organizationCan.updatePolicies(organization) ?? (given.ok ? undefined : given.reason)
            }
            onAct={ask}
          >
            Try
          </ActionButton>
        }
      >
        <Editor
          label="Input of the trial"
          language="json"
          value={input}
          onChange={setInput}
          minHeight="160px"
        />
      </Panel>
      {error !== undefined && <Failure error={error} />}
      {trial !== undefined && <Verdict trial={trial} policy={policy} place={organization.id} />}
    </>
  )
}

/** Each line once, in the order of the reasons: the first one is brought into view. */
export function linesOf(findings: readonly v2.PolicyFinding[]): readonly number[] {
  const own = findings.filter(({ file }) => file === undefined)
  return [...new Set(own.flatMap(({ line }) => (line === null ? [] : [line])))]
}

interface VerdictProps {
  readonly trial: Trial
  readonly policy: v2.RunPolicy
  readonly place: string
}

function Verdict({ trial, policy, place }: VerdictProps) {
  const { status, output, findings, warnings, skipped } = trial
  return (
    <Panel title="Verdict" actions={<StateBadge state={status} />}>
      <div className="stack" role="status">
        {skipped !== undefined && <p className="warn">The policy was not asked: {skipped}.</p>}
        {status === 'passed' && skipped === undefined && <p>The policy passes for this input.</p>}
        {warnings.map((warning) => (
          <p key={warning} className="warn">
            {warning}
          </p>
        ))}
        <Findings
          findings={findings.map(({ rule, line, file, message }) => ({
            rule,
            line,
            file,
            message,
          }))}
          // The lines are marked in the editor, which is in view.
          code={undefined}
          policy={{ organization: place, id: policy.id }}
        />
        {output.length > 0 && (
          <details>
            <summary>Output</summary>
            <pre className="excerpt" tabIndex={0}>
              {output.map(textOf).join('\n')}
            </pre>
          </details>
        )}
      </div>
    </Panel>
  )
}

function textOf(output: unknown): string {
  return typeof output === 'string' ? output : JSON.stringify(output, null, 2)
}
