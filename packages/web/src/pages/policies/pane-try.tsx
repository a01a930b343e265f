import type { v2 } from '@reeve/contract'
import { useState } from 'react'
import { organizationDisabledReason } from '../../actions/governance-can.ts'
import { Editor } from '../../editor/lazy-editor.tsx'
import { ActionButton } from '../../parts/action-button.tsx'
import { ErrorMessage } from '../../parts/failure.tsx'
import { Panel } from '../../parts/panel.tsx'
import { StatusBadge } from '../../parts/state-badge.tsx'
import { useSession } from '../../session/session.tsx'
import { INPUT_EXAMPLE } from './examples.ts'
import { Findings } from './findings.tsx'
import { parseObject } from './read-object.ts'
import type { PaneProps } from './pane-props.ts'

type Trial = v2.PolicyTrial['attributes']

/** Evaluates the code in the editor against an input. Nothing is stored. */
export function TryPane({ organization, policy, code, isChanged, onFailingLines }: PaneProps) {
  const { api } = useSession()
  const [input, setInput] = useState(INPUT_EXAMPLE)
  const [trial, setTrial] = useState<Trial>()
  const [error, setError] = useState<unknown>()
  const parsedInput = parseObject(input)
  const evaluate = async () => {
    if (!parsedInput.ok) return
    const attributes = { ...(isChanged ? { code } : {}), input: parsedInput.value }
    const body = { data: { type: 'policy-trials' as const, attributes } }
    try {
      const { data } = await api.v2.tryPolicy({ params: { policy_id: policy.id }, body })
      setError(undefined)
      setTrial(data.data.attributes)
      onFailingLines(failingLines(data.data.attributes.findings))
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
            disabledReason={
              organizationDisabledReason.updatePolicies(organization) ??
              (parsedInput.ok ? undefined : parsedInput.reason)
            }
            onAction={evaluate}
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
      {error !== undefined && <ErrorMessage error={error} />}
      {trial !== undefined && (
        <TrialResult trial={trial} policy={policy} organizationId={organization.id} />
      )}
    </>
  )
}

/** Returns the distinct lines of findings in the policy itself; the first is scrolled to. */
export function failingLines(findings: readonly v2.PolicyFinding[]): readonly number[] {
  const policyFindings = findings.filter(({ file }) => file === undefined)
  return [...new Set(policyFindings.flatMap(({ line }) => (line === null ? [] : [line])))]
}

interface TrialResultProps {
  readonly trial: Trial
  readonly policy: v2.RunPolicy
  readonly organizationId: string
}

function TrialResult({ trial, policy, organizationId }: TrialResultProps) {
  const { status, output, findings, warnings, skipped } = trial
  return (
    <Panel title="Verdict" actions={<StatusBadge state={status} />}>
      <div className="stack" role="status">
        {skipped !== undefined && <p className="warn">Skipped: {skipped}.</p>}
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
          // The lines are highlighted in the editor instead.
          code={undefined}
          policy={{ organization: organizationId, id: policy.id }}
        />
        {output.length > 0 && (
          <details>
            <summary>Output</summary>
            <pre className="excerpt" tabIndex={0}>
              {output.map(outputText).join('\n')}
            </pre>
          </details>
        )}
      </div>
    </Panel>
  )
}

function outputText(output: unknown): string {
  return typeof output === 'string' ? output : JSON.stringify(output, null, 2)
}
