import type { v2 } from '@reeve/contract'
import { findIncluded, followRunLog, formatLogLine } from '@reeve/sdk'
import { useState } from 'react'
import { runDisabledReason } from '../../permissions/governance.ts'
import { useApiQuery } from '../../data/api-query.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { CliAndApiPanel } from '../../components/command-line.tsx'
import { LogView } from '../../components/log-view.tsx'
import { DescriptionList, PageHeader, Panel } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { useTextStream } from '../../data/text-stream.ts'
import { dateFromText, formatMinute } from '../../format.ts'
import { paths } from '../../paths.ts'
import type { PageProps } from '../../routing/route.ts'
import { ChecksPanel, StagesPanel } from '../policies/run-policies.tsx'
import { organizationCrumbs, OrganizationPageFrame, OrganizationGuard } from './in-organization.tsx'
import { RunDecision, type RunDecisionKind } from './run-decision.tsx'
import { countsText, RunPlanPanel, useRunPlan } from './run-plan.tsx'
import { RunProgress } from './run-progress.tsx'
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
          <RunProgress run={document.data} />
          <RunPlanPanel run={document.data} />
          <ChecksPanel organization={organization} runId={runId} />
          <StagesPanel organization={organization} runId={runId} />
          <RunLogsPanel run={document.data} />
          <RunFacts document={document} />
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
  const { data: plan } = useRunPlan(document.data)
  const { attributes } = document.data
  const workspace = workspaceOf(document)?.attributes.name
  const canApply = runDisabledReason.apply(document.data) === undefined
  return (
    <>
      <PageHeader
        title={attributes.message ?? titleWithTime(attributes)}
        lead={reasonOf(document.data)}
        crumbs={[
          ...organizationCrumbs(organization),
          ...(workspace === undefined
            ? []
            : [{ text: workspace, href: paths.workspace(organization, workspace) }]),
        ]}
        aside={<StatusBadge state={attributes.status} text={runStatusText(attributes.status)} />}
        actions={
          <div className={`row ${canApply ? 'approval-bar' : ''}`}>
            {canApply && plan !== undefined && (
              <span className="approval-counts quiet">{countsText(plan.record.attributes)}</span>
            )}
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
          </div>
        }
      />
      {decision !== undefined && (
        <RunDecision kind={decision} run={document.data} onClose={() => setDecision(undefined)} />
      )}
    </>
  )
}

function titleWithTime(attributes: v2.Run['attributes']): string {
  const created = dateFromText(attributes['created-at'])
  return created === undefined ? 'Run' : `Run of ${formatMinute(created)}`
}

/** Why the run ended or waits, which is more than its status. */
function reasonOf({ attributes, relationships }: v2.Run): string | undefined {
  if (attributes.status === 'confirmed' && relationships.apply.data === null)
    return 'Approved. Waiting for the executor to report.'
  return attributes['status-reason'] ?? undefined
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
