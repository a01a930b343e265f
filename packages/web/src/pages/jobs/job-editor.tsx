import type {
  JobPlanResponse,
  JobPolicyOutcome,
  JobRegisterRequest,
  ParsedJob,
} from '@reeve/contract'
import { useEffect, useMemo, useState } from 'react'
import { requiresCapability } from '../../permissions/disabled-reason.ts'
import { useApiAction } from '../../data/api-action.ts'
import { Editor } from '../../components/lazy.tsx'
import { ActionButton } from '../../components/action-button.tsx'
import { FormDialog, TextField } from '../../components/form.tsx'
import type { Problem } from '../../editor/problem.ts'
import { paths } from '../../paths.ts'
import { navigate } from '../../routing/location.ts'
import { useSession } from '../../session/session.tsx'
import { JobOutcomes } from '../policies/policy-results.tsx'
import { isSameSource, parseSource, toRegisterRequest, type JobSource } from './job-source.ts'
import { PlanView } from './plan-view.tsx'

interface JobEditorProps {
  readonly source: JobSource
  readonly onChange: (source: JobSource) => void
  /** Called after the job was submitted; the draft is obsolete then. */
  readonly onRun: () => void
  /** Namespace of jobs that name none. */
  readonly namespace: string
  /** The line to scroll to. */
  readonly line?: number | undefined
  /** Current version of the job; absent for a new job. */
  readonly version?: number
}

/** A plan and its input. A change of the text or of the job invalidates it. */
interface PlannedJob {
  readonly plan: JobPlanResponse
  readonly job: ParsedJob
  readonly source: JobSource
  readonly version: number | undefined
}

/** The job editor: edit, plan, run. */
export function JobEditor(props: JobEditorProps) {
  const { source, onChange, onRun, namespace, version, line } = props
  const problems = useProblems(source, namespace)
  const [planned, setPlanned] = useState<PlannedJob>()
  const isPlanned =
    planned !== undefined && planned.version === version && isSameSource(planned.source, source)
  const current = isPlanned ? planned : undefined
  const actions = useEditorActions({ source, namespace, version, onPlanned: setPlanned, onRun })
  const [message, setMessage] = useState('')
  const markedLines = useMemo(() => (line === undefined ? [] : [line]), [line])
  const blocked = current === undefined ? undefined : blockingPoliciesText(current.plan)
  const { permissions } = useSession()
  const disabledReason =
    requiresCapability(permissions, namespace, 'submit-job', 'register-job') ??
    (problems.length > 0 ? 'Fix the errors below first.' : undefined) ??
    (source.text.trim() === '' ? 'Enter a definition.' : undefined)
  return (
    <>
      <Editor
        label="Definition of the job"
        language={source.format === 'json' ? 'json' : 'hcl'}
        value={source.text}
        problems={problems}
        markedLineNumbers={markedLines}
        minHeight="320px"
        onChange={(text) => onChange({ ...source, text })}
      />
      <ProblemList problems={problems} />
      <SourceOptions source={source} onChange={onChange} />
      {current !== undefined && <BlockingPolicies plan={current.plan} />}
      <MessageField value={message} onChange={setMessage} />
      <div className="row editor-actions">
        <ActionButton
          kind={current === undefined ? 'primary' : undefined}
          disabledReason={disabledReason}
          onAction={actions.plan}
        >
          Plan
        </ActionButton>
        <ActionButton
          kind={current === undefined || blocked !== undefined ? undefined : 'primary'}
          disabledReason={
            disabledReason ?? (current === undefined ? 'Plan the job first.' : blocked)
          }
          onAction={async () => {
            if (current !== undefined) await actions.run(current, message)
          }}
        >
          {blocked === undefined ? 'Run' : `Run: ${blocked}`}
        </ActionButton>
        {current !== undefined && (
          <Override
            planned={current}
            onRun={(one, reason) => actions.override(one, message, reason)}
          />
        )}
      </div>
      {current !== undefined && <PlanView plan={current.plan} />}
    </>
  )
}

function ProblemList({ problems }: { readonly problems: ReturnType<typeof useProblems> }) {
  return (
    <div aria-live="polite">
      {problems.length > 0 && (
        <ul className="problems">
          {problems.map(({ line, column, message }) => (
            <li key={`${line} ${column} ${message}`}>
              <b>
                Line {line}, column {column}:
              </b>{' '}
              {message}
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

type OptionsProps = Pick<JobEditorProps, 'source' | 'onChange'>

function SourceOptions({ source, onChange }: OptionsProps) {
  return (
    <div className="row editor-options">
      <label className="check">
        <span>Format</span>
        <select
          value={source.format}
          onChange={({ target }) =>
            onChange({ ...source, format: target.value === 'json' ? 'json' : 'hcl2' })
          }
        >
          <option value="hcl2">HCL</option>
          <option value="json">JSON</option>
        </select>
      </label>
      {source.format === 'hcl2' && (
        <details open={source.variables !== ''}>
          <summary>Variables</summary>
          <textarea
            rows={4}
            cols={60}
            aria-label="Values of variables, as a variables file"
            placeholder={'image = "web:2"'}
            value={source.variables}
            onChange={({ target }) => onChange({ ...source, variables: target.value })}
          />
        </details>
      )}
    </div>
  )
}

interface OverrideProps {
  readonly planned: PlannedJob
  /** Resolves to whether the job was registered. */
  readonly onRun: (planned: PlannedJob, reason: string) => Promise<boolean>
}

/** Names the policies that block the job; undefined without any. */
function blockingPoliciesText({ PolicyVerdicts }: JobPlanResponse): string | undefined {
  const denials = (PolicyVerdicts ?? []).filter(({ Effect }) => Effect === 'denies')
  // Several policy sets may contain the same policy.
  const names = [...new Set(denials.map(({ Policy }) => `"${Policy}"`))]
  if (names.length === 0) return undefined
  return `blocked by ${names.length === 1 ? 'policy' : 'policies'} ${names.join(', ')}`
}

/** Lists the policies that deny the job, above the rest of the plan. */
function BlockingPolicies({ plan }: { readonly plan: JobPlanResponse }) {
  const denials = (plan.PolicyVerdicts ?? []).filter(({ Effect }) => Effect === 'denies')
  return (
    <>
      <Denials outcomes={denials.filter(({ Overridable }) => !Overridable)} />
      <Denials outcomes={denials.filter(({ Overridable }) => Overridable)} isOverridable />
    </>
  )
}

interface DenialsProps {
  readonly outcomes: readonly JobPolicyOutcome[]
  readonly isOverridable?: boolean
}

function Denials({ outcomes, isOverridable = false }: DenialsProps) {
  if (outcomes.length === 0) return null
  const count = new Set(outcomes.map(({ PolicyID }) => PolicyID)).size
  return (
    <div className={`note ${isOverridable ? 'tone-warn' : 'tone-bad'} blocking`} role="alert">
      <p>
        <b>
          {count === 1 ? '1 policy blocks' : `${count} policies block`} this job
          {isOverridable && ' unless overridden'}
        </b>
      </p>
      <JobOutcomes outcomes={outcomes} />
    </div>
  )
}

interface MessageProps {
  readonly value: string
  readonly onChange: (text: string) => void
}

function MessageField({ value, onChange }: MessageProps) {
  return (
    <label className="stack editor-message">
      <span>Message (optional)</span>
      <input
        type="text"
        maxLength={MESSAGE_CHARS_MAX}
        placeholder="Why the job changes"
        value={value}
        onChange={({ target }) => onChange(target.value)}
      />
    </label>
  )
}

/** The server rejects longer messages (docs/reference/limits.md). */
const MESSAGE_CHARS_MAX = 500

/** Runs a denied job; the reason is recorded in the policy decision. */
function Override({ planned, onRun }: OverrideProps) {
  const { permissions } = useSession()
  const [isOverrideOpen, setOverrideOpen] = useState(false)
  const [reason, setReason] = useState('')
  const denials = (planned.plan.PolicyVerdicts ?? []).filter(({ Effect }) => Effect === 'denies')
  if (denials.length === 0) return null
  const namespace = planned.job.Namespace ?? 'default'
  const disabledReason = denials.some(({ Overridable }) => !Overridable)
    ? "A hard-mandatory policy blocks the job and can't be overridden."
    : requiresCapability(permissions, namespace, 'policy-override')
  return (
    <>
      <ActionButton
        kind="danger"
        disabledReason={disabledReason}
        onAction={() => setOverrideOpen(true)}
      >
        Run with override…
      </ActionButton>
      {isOverrideOpen && (
        <FormDialog
          title="Override policies"
          action="Run with override"
          kind="danger"
          disabledReason={disabledReason ?? (reason.trim() === '' ? 'Enter a reason.' : undefined)}
          onSubmit={() => onRun(planned, reason)}
          onClose={() => setOverrideOpen(false)}
        >
          <p>The job runs although it is {blockingPoliciesText(planned.plan)}.</p>
          <TextField
            label="Reason"
            value={reason}
            onChange={setReason}
            hint="Recorded with your name in the policy decision."
          />
        </FormDialog>
      )}
    </>
  )
}

interface EditorActionOptions extends Pick<JobEditorProps, 'source' | 'namespace' | 'onRun'> {
  readonly version: number | undefined
  readonly onPlanned: (planned: PlannedJob) => void
}

function useEditorActions({ source, namespace, version, onPlanned, onRun }: EditorActionOptions) {
  const callApi = useApiAction()
  const run = async (
    { plan, job, source: text }: PlannedJob,
    options: Pick<JobRegisterRequest, 'PolicyOverride' | 'PolicyOverrideComment' | 'Message'>,
  ): Promise<boolean> => {
    const body = {
      ...toRegisterRequest(text, job),
      EnforceIndex: true,
      JobModifyIndex: plan.JobModifyIndex,
      ...options,
    }
    const query = { namespace: job.Namespace ?? namespace }
    const result = await callApi({
      call: (api) => api.v1.registerJob({ query, body }),
      successMessage: ({ data }) =>
        data.Warnings === '' ? 'The job is registered.' : data.Warnings,
    })
    if (result === undefined) return false
    onRun()
    navigate(paths.job({ namespace: query.namespace, id: job.ID ?? '' }))
    return true
  }
  return {
    plan: async () => {
      const planned = await callApi({
        call: async (api) => {
          const { job, problems } = await parseSource(api, source, { namespace })
          if (job === undefined) throw new Error(problems.map(({ message }) => message).join('\n'))
          const params = { job_id: job.ID ?? '' }
          const query = { namespace: job.Namespace ?? namespace }
          const { data } = await api.v1.planJob({ params, query, body: { Job: job, Diff: true } })
          return { plan: data, job, source, version }
        },
      })
      if (planned !== undefined) onPlanned(planned)
    },
    run: (planned: PlannedJob, Message: string) => run(planned, { Message, PolicyOverride: false }),
    override: (planned: PlannedJob, Message: string, PolicyOverrideComment: string) =>
      run(planned, { Message, PolicyOverride: true, PolicyOverrideComment }),
  }
}

/** Pause in typing after which the text is parsed. */
const TYPING_PAUSE_MS = 400
const NO_PROBLEMS: readonly Problem[] = []

/** Returns the errors that the server reports for a text, shortly after typing. */
function useProblems(source: JobSource, namespace: string): readonly Problem[] {
  const { api } = useSession()
  const [problems, setProblems] = useState(NO_PROBLEMS)
  useEffect(() => {
    const abortController = new AbortController()
    const parse = async () => {
      try {
        const parsed = await parseSource(api, source, { namespace, signal: abortController.signal })
        if (!abortController.signal.aborted) setProblems(parsed.problems)
      } catch {
        // A missing permission or connection is reported by the plan, not with every key.
        if (!abortController.signal.aborted) setProblems(NO_PROBLEMS)
      }
    }
    if (source.text.trim() === '') {
      setProblems(NO_PROBLEMS)
      return undefined
    }
    const timer = setTimeout(() => void parse(), TYPING_PAUSE_MS)
    return () => {
      clearTimeout(timer)
      abortController.abort()
    }
  }, [api, source, namespace])
  return problems
}
