import type { v2 } from '@reeve/contract'
import { findIncluded } from '@reeve/sdk'
import { useState } from 'react'
import { runDisabledReason } from '../../actions/governance-can.ts'
import { useApiQuery } from '../../data/use-read.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { RelativeTime } from '../../parts/ago.tsx'
import { CliAndApiPanel } from '../../parts/command-line.tsx'
import { PageHeader } from '../../parts/page-head.tsx'
import { DescriptionList, Panel } from '../../parts/panel.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { StatusBadge } from '../../parts/state-badge.tsx'
import { dateFromText } from '../../parts/time.ts'
import { paths } from '../../paths.ts'
import type { PageProps } from '../../routing/route.ts'
import { ChecksPanel } from '../policies/run-checks.tsx'
import { StagesPanel } from '../policies/run-stages.tsx'
import { organizationCrumbs, OrganizationPageFrame, OrganizationGuard } from './in-organization.tsx'
import { RunDecision, type RunDecisionKind } from './run-decision.tsx'
import { RunLogsPanel } from './run-logs.tsx'
import { RunPlanPanel } from './run-plan.tsx'
import { runStatusText } from './run-words.ts'

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
          { name: 'Id', value: <code>{id}</code> },
          {
            name: 'Created by',
            value: user?.attributes.username ?? relationships['created-by'].data.id,
          },
          { name: 'Made', value: <RelativeTime date={dateFromText(attributes['created-at'])} /> },
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
