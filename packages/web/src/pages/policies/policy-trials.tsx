import type { v2 } from '@reeve/contract'
import { useState } from 'react'
import { organizationDisabledReason } from '../../permissions/governance.ts'
import { Editor } from '../../components/lazy.tsx'
import { ActionButton } from '../../components/action-button.tsx'
import { ErrorMessage } from '../../components/error-message.tsx'
import { Panel } from '../../components/page.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { dateFromText } from '../../format.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import { useSession } from '../../session/session.tsx'
import { INPUT_EXAMPLE } from './policy-code.ts'
import { Findings } from './policy-results.tsx'
import { parseObject } from './policy-text.ts'
import type { PaneProps } from './policy-panes.tsx'

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
function failingLines(findings: readonly v2.PolicyFinding[]): readonly number[] {
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
    <Panel title="Policy decision" actions={<StatusBadge state={status} />}>
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

const PAGE_SIZE = 50

interface ReplayState {
  readonly results: readonly v2.ReplayedSubject[]
  readonly cursor: string | null
}

/** Evaluates the code in the editor against past runs and job registrations. */
export function ReplayPane(props: PaneProps) {
  const { organization, policy, code, isChanged, onFailingLines } = props
  const { api } = useSession()
  const [replayed, setReplayed] = useState<ReplayState>()
  const [error, setError] = useState<unknown>()
  const disabledReason = organizationDisabledReason.updatePolicies(organization)
  const loadPage = async (previous: ReplayState | undefined) => {
    const attributes = {
      ...(isChanged ? { code } : {}),
      limit: PAGE_SIZE,
      cursor: previous?.cursor ?? null,
    }
    const body = { data: { type: 'policy-replays' as const, attributes } }
    try {
      const { data } = await api.v2.replayPolicy({ params: { policy_id: policy.id }, body })
      const page = data.data.attributes
      const results = [...(previous?.results ?? []), ...page.results]
      setError(undefined)
      setReplayed({ results, cursor: page['next-cursor'] })
      onFailingLines(failingLines(results.flatMap(({ findings }) => findings)))
    } catch (failure) {
      setError(failure)
    }
  }
  return (
    <Panel
      title="Replay on history"
      actions={
        <ActionButton
          kind="primary"
          disabledReason={disabledReason}
          onAction={() => loadPage(undefined)}
        >
          Replay
        </ActionButton>
      }
    >
      <div className="stack">
        {replayed === undefined && (
          <p className="quiet">
            Evaluates the code in the editor against recent runs and job registrations.
          </p>
        )}
        {error !== undefined && <ErrorMessage error={error} />}
        {replayed !== undefined && (
          <ReplayResults organization={organization.id} replayed={replayed} />
        )}
        {replayed !== undefined && replayed.cursor !== null && (
          <div>
            <ActionButton disabledReason={disabledReason} onAction={() => loadPage(replayed)}>
              Load more
            </ActionButton>
          </div>
        )}
      </div>
    </Panel>
  )
}

interface ResultsProps {
  readonly organization: string
  readonly replayed: ReplayState
}

function ReplayResults({ organization, replayed: { results } }: ResultsProps) {
  const denied = results.filter((one) => one['would-deny']).length
  const failed = results.filter(({ status }) => status !== 'passed')
  const skipReasons = results.flatMap(({ skipped }) => skipped ?? [])
  return (
    <div role="status" className="stack">
      <p>
        {results.length - skipReasons.length} evaluated, {failed.length} failed,{' '}
        <strong>{denied} would be denied</strong>.
      </p>
      {skipReasons.length > 0 && (
        <p className="quiet">
          {skipReasons.length} skipped: {[...new Set(skipReasons)].join(', ')}.
        </p>
      )}
      <ul className="verdicts">
        {failed.map((one) => (
          <li key={`${one.type}/${one.id}/${one.version ?? ''}/${one['created-at'] ?? ''}`}>
            <div className="row">
              <StatusBadge
                state={one['would-deny'] ? 'denied' : one.status}
                text={one['would-deny'] ? 'would deny' : one.status}
              />
              <Link href={subjectHref(organization, one)}>{one.id}</Link>
              {one.version !== null && <span className="tag">version {one.version}</span>}
              <RelativeTime date={dateFromText(one['created-at'])} />
            </div>
            {one.findings.map(({ line, message }) => (
              <p key={`${line}:${message}`}>
                {message}
                {line !== null && <small> line {line}</small>}
              </p>
            ))}
          </li>
        ))}
      </ul>
    </div>
  )
}

/** Job subjects have the ID `NAMESPACE/JOB`; job IDs may contain slashes. */
function subjectHref(organization: string, { type, id }: v2.ReplayedSubject): string {
  if (type === 'runs') return paths.run(organization, id)
  const [namespace = 'default', ...rest] = id.split('/')
  return paths.job({ namespace, id: rest.join('/') })
}
