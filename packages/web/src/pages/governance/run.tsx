import type { v2 } from '@reeve/contract'
import { findIncluded, followRunLog, formatLogLine } from '@reeve/sdk'
import { useState } from 'react'
import { runDisabledReason } from '../../permissions/governance.ts'
import { useApiQuery } from '../../data/api-query.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { CliAndApiPanel } from '../../components/command-line.tsx'
import { FormDialog, TextField } from '../../components/form.tsx'
import { LogView } from '../../components/log-view.tsx'
import { DescriptionList, PageHeader, Panel } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { useApiAction } from '../../data/api-action.ts'
import { useTextStream } from '../../data/text-stream.ts'
import { dateFromText } from '../../format.ts'
import { paths } from '../../paths.ts'
import type { PageProps } from '../../routing/route.ts'
import { ChecksPanel, StagesPanel } from '../policies/run-policies.tsx'
import { organizationCrumbs, OrganizationPageFrame, OrganizationGuard } from './in-organization.tsx'
import { RunPlanPanel } from './run-plan.tsx'
import { runStatusText } from './labels.ts'

/** A run: its plan and the results of the policies. */
export function RunPage({ params }: PageProps<'/organizations/:organization/runs/:runId'>) {
  return (
    <OrganizationPageFrame name={params.organization}>
      {({ id }) => <LoadedRun {...params} organization={id} />}
    </OrganizationPageFrame>
  )
}

interface LoadedRunProps {
  readonly organization: string
  readonly runId: string
}

function LoadedRun({ organization, runId }: LoadedRunProps) {
  const run = useApiQuery(
    ['run', runId],
    (api, signal) =>
      api.v2.readRun({
        params: { run_id: runId },
        query: { include: 'workspace,created_by' },
        signal,
      }),
    { watches: [{ topic: 'Run' }] },
  )
  return (
    <QueryView
      query={run}
      what="the run"
      page={{ title: 'Run', crumbs: organizationCrumbs(organization) }}
    >
      {(document) => (
        <OrganizationGuard
          name={organization}
          owner={workspaceOf(document)?.relationships.organization.data.id}
          hrefIn={(name) => paths.run(name, runId)}
        >
          <RunHead organization={organization} document={document} />
          <RunFacts document={document} />
          <RunPlanPanel run={document.data} />
          <ChecksPanel organization={organization} runId={runId} />
          <StagesPanel organization={organization} runId={runId} />
          <RunLogsPanel run={document.data} />
          <CliAndApiPanel
            cli={`reeve run show ${runId}`}
            call={{ path: `/api/v2/runs/${runId}`, query: { include: 'policy_checks' } }}
          />
        </OrganizationGuard>
      )}
    </QueryView>
  )
}

function workspaceOf(document: v2.RunDocument) {
  return findIncluded(document, document.data.relationships.workspace.data)
}

interface RunHeadProps {
  readonly organization: string
  readonly document: v2.RunDocument
}

function RunHead({ organization, document }: RunHeadProps) {
  const [decision, setDecision] = useState<RunDecisionKind>()
  const { attributes } = document.data
  const workspace = workspaceOf(document)?.attributes.name
  return (
    <>
      <PageHeader
        title={attributes.message ?? document.data.id}
        crumbs={[
          ...organizationCrumbs(organization),
          ...(workspace === undefined
            ? []
            : [{ text: workspace, href: paths.workspace(organization, workspace) }]),
        ]}
        aside={<StatusBadge state={attributes.status} text={runStatusText(attributes.status)} />}
        actions={
          <>
            <ActionButton
              kind="primary"
              disabledReason={runDisabledReason.apply(document.data)}
              onAction={() => setDecision('apply')}
            >
              Apply…
            </ActionButton>
            <ActionButton
              disabledReason={runDisabledReason.discard(document.data)}
              onAction={() => setDecision('discard')}
            >
              Discard…
            </ActionButton>
            <ActionButton
              disabledReason={runDisabledReason.cancel(document.data)}
              onAction={() => setDecision('cancel')}
            >
              Cancel…
            </ActionButton>
          </>
        }
      />
      {decision !== undefined && (
        <RunDecision kind={decision} run={document.data} onClose={() => setDecision(undefined)} />
      )}
    </>
  )
}

function RunFacts({ document }: { readonly document: v2.RunDocument }) {
  const { id, attributes, relationships } = document.data
  const user = findIncluded(document, relationships['created-by'].data)
  return (
    <Panel title="Run">
      <DescriptionList
        facts={[
          { name: 'ID', value: <code>{id}</code> },
          {
            name: 'Created by',
            value: user?.attributes.username ?? relationships['created-by'].data.id,
          },
          {
            name: 'Created',
            value: <RelativeTime date={dateFromText(attributes['created-at'])} />,
          },
          { name: 'Source', value: attributes.source },
          ...(attributes['position-in-queue'] === 0
            ? []
            : [{ name: 'Position in queue', value: attributes['position-in-queue'] }]),
          ...(attributes['status-reason'] === null
            ? []
            : [{ name: 'Reason', value: attributes['status-reason'] }]),
          { name: 'Changes', value: attributes['has-changes'] ? 'yes' : 'none' },
          {
            name: 'Kind',
            value: kindText(attributes),
          },
          ...(attributes['commit-sha'] === null
            ? []
            : [{ name: 'Commit', value: <code>{attributes['commit-sha']}</code> }]),
        ]}
      />
    </Panel>
  )
}

function kindText(attributes: v2.Run['attributes']): string {
  if (attributes['trigger-reason'] === 'drift-check') return 'drift check'
  if (attributes['is-destroy']) return 'destroys everything'
  return attributes['plan-only'] ? 'plan only' : 'plan and apply'
}

type RunDecisionKind = 'apply' | 'discard' | 'cancel'

const DECISIONS = {
  apply: {
    text: 'Apply',
    call: 'applyRun',
    means: 'Confirms the plan, which is then applied.',
    done: 'The run is confirmed.',
  },
  discard: {
    text: 'Discard',
    call: 'discardRun',
    means: 'Discards the plan. Nothing changes.',
    done: 'The run is discarded.',
  },
  cancel: {
    text: 'Cancel',
    call: 'cancelRun',
    means: 'Cancels the run; an apply finishes its current operation first.',
    done: 'The run is canceled.',
  },
} as const

interface RunDecisionProps {
  readonly kind: RunDecisionKind
  readonly run: v2.Run
  readonly onClose: () => void
}

/** The dialog to apply, discard or cancel a run, with an optional comment. */
function RunDecision({ kind, run, onClose }: RunDecisionProps) {
  const callApi = useApiAction()
  const [comment, setComment] = useState('')
  const { text, call, means: explanation, done: successMessage } = DECISIONS[kind]
  const decide = async () => {
    const params = { run_id: run.id }
    const body = comment === '' ? {} : { comment }
    const result = await callApi({
      call: async (api) => {
        await api.v2[call]({ params, body })
        return true
      },
      successMessage,
    })
    return result !== undefined
  }
  return (
    <FormDialog title={`${text} this run?`} action={text} onSubmit={decide} onClose={onClose}>
      <p>{explanation}</p>
      {kind === 'apply' && run.attributes['is-destroy'] && (
        <p>It destroys everything that the workspace manages.</p>
      )}
      <TextField label="Comment" isOptional value={comment} onChange={setComment} />
    </FormDialog>
  )
}

type Phase = v2.RunPhaseName

/** The live logs of both phases of a run. */
function RunLogsPanel({ run }: { readonly run: v2.Run }) {
  const hasApply = run.attributes['status-timestamps']['apply-queued-at'] !== undefined
  const [selectedPhase, setSelectedPhase] = useState<Phase>()
  const phase = selectedPhase ?? (hasApply ? 'apply' : 'plan')
  const url = useApiQuery(['run-log', run.id, phase], async (api, signal) => {
    const { plan, apply } = run.relationships
    if (phase === 'plan') {
      const { data } = await api.v2.readPlan({ params: { plan_id: plan.data.id }, signal })
      return { data: data.data.attributes['log-read-url'] }
    }
    const { data } = await api.v2.readApply({
      params: { apply_id: apply.data?.id ?? '' },
      signal,
    })
    return { data: data.data.attributes['log-read-url'] }
  })
  // An uploaded plan was created elsewhere and has no log here.
  if (run.relationships.apply.data === null) return null
  return (
    <Panel
      title={phase === 'plan' ? 'Log of the plan' : 'Log of the apply'}
      actions={
        hasApply && (
          <button
            type="button"
            className="button"
            onClick={() => setSelectedPhase(phase === 'plan' ? 'apply' : 'plan')}
          >
            {phase === 'plan' ? 'Show the apply' : 'Show the plan'}
          </button>
        )
      }
    >
      <QueryView query={url} what="the log">
        {(address) => (address === null ? null : <FollowedLog url={address} phase={phase} />)}
      </QueryView>
    </Panel>
  )
}

interface FollowedLogProps {
  readonly url: string
  readonly phase: Phase
}

function FollowedLog({ url, phase }: FollowedLogProps) {
  const stream = useTextStream(`run-log ${url}`, (api, signal) =>
    Promise.resolve(followRunLog(api, { url, signal })),
  )
  const lines = stream.log.lines.flatMap((line) => formatLogLine(line).split('\n'))
  const displayed = { ...stream, log: { ...stream.log, lines } }
  return <LogView label={`Log of the ${phase}`} stream={displayed} search="" />
}
