import type { v2 } from '@reeve/contract'
import { findIncluded } from '@reeve/sdk'
import { useState } from 'react'
import { runCan } from '../../actions/governance-can.ts'
import { useRead } from '../../data/use-read.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { Ago } from '../../parts/ago.tsx'
import { CommandLine } from '../../parts/command-line.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { Facts, Panel } from '../../parts/panel.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { StateBadge } from '../../parts/state-badge.tsx'
import { dateOfText } from '../../parts/time.ts'
import { paths } from '../../paths.ts'
import type { PageProps } from '../../routing/route.ts'
import { ChecksPanel } from '../policies/run-checks.tsx'
import { StagesPanel } from '../policies/run-stages.tsx'
import { crumbsOf, InOrganization, OfOrganization } from './in-organization.tsx'
import { RunDecision, type RunVerb } from './run-decision.tsx'
import { RunLogsPanel } from './run-logs.tsx'
import { RunPlanPanel } from './run-plan.tsx'
import { runStateText } from './run-words.ts'

/** A run: one plan on its way through the policies, and what they said. */
export function RunPage({ params }: PageProps<'/organizations/:organization/runs/:runId'>) {
  return (
    <InOrganization name={params.organization}>
      {({ id }) => <LoadedRun {...params} organization={id} />}
    </InOrganization>
  )
}

interface LoadedRunProps {
  readonly organization: string
  readonly runId: string
}

function LoadedRun({ organization, runId }: LoadedRunProps) {
  const run = useRead(
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
    <QueryView query={run} what="the run" page={{ title: 'Run', crumbs: crumbsOf(organization) }}>
      {(document) => (
        <OfOrganization
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
          <CommandLine
            cli={`reeve run show ${runId}`}
            call={{ path: `/api/v2/runs/${runId}`, query: { include: 'policy_checks' } }}
          />
        </OfOrganization>
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
  const [verb, setVerb] = useState<RunVerb>()
  const { attributes } = document.data
  const workspace = workspaceOf(document)?.attributes.name
  return (
    <>
      <PageHead
        title={attributes.message ?? document.data.id}
        crumbs={[
          ...crumbsOf(organization),
          ...(workspace === undefined
            ? []
            : [{ text: workspace, href: paths.workspace(organization, workspace) }]),
        ]}
        aside={<StateBadge state={attributes.status} text={runStateText(attributes.status)} />}
        actions={
          <>
            <ActionButton
              kind="primary"
              refusal={runCan.apply(document.data)}
              onAct={() => setVerb('apply')}
            >
              Apply…
            </ActionButton>
            <ActionButton refusal={runCan.discard(document.data)} onAct={() => setVerb('discard')}>
              Discard…
            </ActionButton>
            <ActionButton refusal={runCan.cancel(document.data)} onAct={() => setVerb('cancel')}>
              Cancel…
            </ActionButton>
          </>
        }
      />
      {verb !== undefined && (
        <RunDecision verb={verb} run={document.data} onClose={() => setVerb(undefined)} />
      )}
    </>
  )
}

function RunFacts({ document }: { readonly document: v2.RunDocument }) {
  const { id, attributes, relationships } = document.data
  const user = findIncluded(document, relationships['created-by'].data)
  return (
    <Panel title="Run">
      <Facts
        facts={[
          { name: 'Id', value: <code>{id}</code> },
          { name: 'By', value: user?.attributes.username ?? relationships['created-by'].data.id },
          { name: 'Made', value: <Ago date={dateOfText(attributes['created-at'])} /> },
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
