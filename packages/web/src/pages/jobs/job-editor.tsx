import type {
  JobPlanResponse,
  JobPolicyOutcome,
  JobRegisterRequest,
  ParsedJob,
} from '@reeve/contract'
import { useMemo, useState } from 'react'
import { needs } from '../../actions/verdict.ts'
import { useAct } from '../../data/use-act.ts'
import { Editor } from '../../editor/lazy-editor.tsx'
import { ActionButton } from '../../parts/action-button.tsx'
import { FormDialog, TextField } from '../../parts/form.tsx'
import { paths } from '../../paths.ts'
import { navigate } from '../../routing/location.ts'
import { useSession } from '../../session/session.tsx'
import { JobOutcomes } from '../policies/job-outcome.tsx'
import { isSameSource, readSource, registrationOf, type JobSource } from './job-source.ts'
import { PlanView } from './plan-view.tsx'
import { useProblems } from './use-problems.ts'

interface JobEditorProps {
  readonly source: JobSource
  readonly onChange: (source: JobSource) => void
  /** Called when it was run: it is no draft any more. */
  readonly onRun: () => void
  /** Where a job goes that names no namespace. */
  readonly namespace: string
  /** The line to look at first. */
  readonly line?: number | undefined
  /** The version that the job has by now; absent where there may be no job yet. */
  readonly version?: number
}

/** A plan, and what it was made from: a change of the text or of the job makes it old. */
interface Planned {
  readonly plan: JobPlanResponse
  readonly job: ParsedJob
  readonly source: JobSource
  readonly version: number | undefined
}

/** A definition: edited, then planned, then run. */
export function JobEditor(props: JobEditorProps) {
  const { source, onChange, onRun, namespace, version, line } = props
  const problems = useProblems(source, namespace)
  const [planned, setPlanned] = useState<Planned>()
  const isPlanned =
    planned !== undefined && planned.version === version && isSameSource(planned.source, source)
  const current = isPlanned ? planned : undefined
  const deeds = useEditorDeeds({ source, namespace, version, onPlanned: setPlanned, onRun })
  const [message, setMessage] = useState('')
  const marked = useMemo(() => (line === undefined ? [] : [line]), [line])
  const blocked = current === undefined ? undefined : blockedText(current.plan)
  const { rights } = useSession()
  const refusal =
    needs(rights, namespace, 'submit-job', 'register-job') ??
    (problems.length > 0 ? 'The definition has faults: see below.' : undefined) ??
    (source.text.trim() === '' ? 'There is no definition yet.' : undefined)
  return (
    <>
      <Editor
        label="Definition of the job"
        language={source.format === 'json' ? 'json' : 'hcl'}
        value={source.text}
        problems={problems}
        marked={marked}
        minHeight="320px"
        onChange={(text) => onChange({ ...source, text })}
      />
      <ProblemList problems={problems} />
      <Options source={source} onChange={onChange} />
      {current !== undefined && <Blocking plan={current.plan} />}
      <MessageField value={message} onChange={setMessage} />
      <div className="row editor-actions">
        <ActionButton
          kind={current === undefined ? 'primary' : undefined}
          refusal={refusal}
          onAct={deeds.plan}
        >
          Plan
        </ActionButton>
        <ActionButton
          kind={current === undefined || blocked !== undefined ? undefined : 'primary'}
          refusal={refusal ?? (current === undefined ? 'Plan the job first.' : blocked)}
          onAct={async () => {
            if (current !== undefined) await deeds.run(current, message)
          }}
        >
          {blocked === undefined ? 'Run' : `Run: ${blocked}`}
        </ActionButton>
        {current !== undefined && (
          <Override
            planned={current}
            onRun={(one, reason) => deeds.override(one, message, reason)}
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

function Options({ source, onChange }: OptionsProps) {
  return (
    <div className="row editor-options">
      <label className="check">
        <span>Written as</span>
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
  readonly planned: Planned
  /** Resolves to whether the job was registered. */
  readonly onRun: (planned: Planned, reason: string) => Promise<boolean>
}

/** Which policies block the job; undefined when none does. */
function blockedText({ PolicyVerdicts }: JobPlanResponse): string | undefined {
  const denials = (PolicyVerdicts ?? []).filter(({ Effect }) => Effect === 'denies')
  // Several policy sets may contain the same policy.
  const names = [...new Set(denials.map(({ Policy }) => `"${Policy}"`))]
  if (names.length === 0) return undefined
  return `blocked by ${names.length === 1 ? 'policy' : 'policies'} ${names.join(', ')}`
}

/** Lists the policies that deny the job, above the rest of the plan. */
function Blocking({ plan }: { readonly plan: JobPlanResponse }) {
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

/** The server refuses longer ones (docs/reference/limits.md). */
const MESSAGE_CHARS_MAX = 500

/** Runs a denied job; the reason is recorded in the verdict. */
function Override({ planned, onRun }: OverrideProps) {
  const { rights } = useSession()
  const [isAsking, setAsking] = useState(false)
  const [reason, setReason] = useState('')
  const denials = (planned.plan.PolicyVerdicts ?? []).filter(({ Effect }) => Effect === 'denies')
  if (denials.length === 0) return null
  const namespace = planned.job.Namespace ?? 'default'
  const refusal = denials.some(({ Overridable }) => !Overridable)
    ? "A hard-mandatory policy blocks the job and can't be overridden."
    : needs(rights, namespace, 'policy-override')
  return (
    <>
      <ActionButton kind="danger" refusal={refusal} onAct={() => setAsking(true)}>
        Run with override…
      </ActionButton>
      {isAsking && (
        <FormDialog
          title="Override policies"
          action="Run with override"
          kind="danger"
          refusal={refusal ?? (reason.trim() === '' ? 'Enter a reason.' : undefined)}
          onSubmit={() => onRun(planned, reason)}
          onClose={() => setAsking(false)}
        >
          <p>The job runs although it is {blockedText(planned.plan)}.</p>
          <TextField
            label="Reason"
            value={reason}
            onChange={setReason}
            hint="Recorded with your name in the verdict."
          />
        </FormDialog>
      )}
    </>
  )
}

interface DeedOptions extends Pick<JobEditorProps, 'source' | 'namespace' | 'onRun'> {
  readonly version: number | undefined
  readonly onPlanned: (planned: Planned) => void
}

function useEditorDeeds({ source, namespace, version, onPlanned, onRun }: DeedOptions) {
  const act = useAct()
  const run = async (
    { plan, job, source: text }: Planned,
    wish: Pick<JobRegisterRequest, 'PolicyOverride' | 'PolicyOverrideComment' | 'Message'>,
  ): Promise<boolean> => {
    const body = {
      ...registrationOf(text, job),
      EnforceIndex: true,
      JobModifyIndex: plan.JobModifyIndex,
      ...wish,
    }
    const query = { namespace: job.Namespace ?? namespace }
    const done = await act({
      call: (api) => api.v1.registerJob({ query, body }),
      done: ({ data }) => (data.Warnings === '' ? 'The job is registered.' : data.Warnings),
    })
    if (done === undefined) return false
    onRun()
    navigate(paths.job({ namespace: query.namespace, id: job.ID ?? '' }))
    return true
  }
  return {
    plan: async () => {
      const planned = await act({
        call: async (api) => {
          const { job, problems } = await readSource(api, source, { namespace })
          if (job === undefined) throw new Error(problems.map(({ message }) => message).join('\n'))
          const params = { job_id: job.ID ?? '' }
          const query = { namespace: job.Namespace ?? namespace }
          const { data } = await api.v1.planJob({ params, query, body: { Job: job, Diff: true } })
          return { plan: data, job, source, version }
        },
      })
      if (planned !== undefined) onPlanned(planned)
    },
    run: (planned: Planned, Message: string) => run(planned, { Message, PolicyOverride: false }),
    override: (planned: Planned, Message: string, PolicyOverrideComment: string) =>
      run(planned, { Message, PolicyOverride: true, PolicyOverrideComment }),
  }
}
