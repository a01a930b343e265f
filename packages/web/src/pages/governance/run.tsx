import type { v2 } from '@reeve/contract'
import { findIncluded } from '@reeve/sdk'
import { runCan } from '../../actions/governance-can.ts'
import { useAct } from '../../data/use-act.ts'
import { useRead } from '../../data/use-read.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { Ago } from '../../parts/ago.tsx'
import { CommandLine } from '../../parts/command-line.tsx'
import { useConfirm } from '../../parts/confirm.tsx'
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
          <ChecksPanel organization={organization} runId={runId} />
          <StagesPanel organization={organization} runId={runId} />
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
  const act = useAct()
  const confirm = useConfirm()
  const { id, attributes } = document.data
  const workspace = workspaceOf(document)?.attributes.name
  const params = { run_id: id }
  const decide = async (verb: 'apply' | 'discard' | 'cancel') => {
    const isSure = await confirm({
      title: `${VERBS[verb].text} this run?`,
      body: <p>{VERBS[verb].means}</p>,
      action: VERBS[verb].text,
      isDangerous: verb !== 'apply',
    })
    if (!isSure) return
    await act({ call: (api) => api.v2[VERBS[verb].call]({ params }), done: VERBS[verb].done })
  }
  return (
    <PageHead
      title={attributes.message ?? id}
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
            onAct={() => decide('apply')}
          >
            Apply…
          </ActionButton>
          <ActionButton refusal={runCan.discard(document.data)} onAct={() => decide('discard')}>
            Discard…
          </ActionButton>
          <ActionButton refusal={runCan.cancel(document.data)} onAct={() => decide('cancel')}>
            Cancel…
          </ActionButton>
        </>
      }
    />
  )
}

const VERBS = {
  apply: {
    text: 'Apply',
    call: 'applyRun',
    means: 'The plan is confirmed: whatever executes it goes on.',
    done: 'The run is confirmed.',
  },
  discard: {
    text: 'Discard',
    call: 'discardRun',
    means: 'The plan is thrown away. Nothing changes.',
    done: 'The run is discarded.',
  },
  cancel: {
    text: 'Cancel',
    call: 'cancelRun',
    means: 'The run ends where it is.',
    done: 'The run is canceled.',
  },
} as const

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
          { name: 'Changes', value: attributes['has-changes'] ? 'yes' : 'none' },
          {
            name: 'Kind',
            value: attributes['is-destroy']
              ? 'destroys everything'
              : attributes['plan-only']
                ? 'plan only'
                : 'plan and apply',
          },
          ...(attributes['commit-sha'] === null
            ? []
            : [{ name: 'Commit', value: <code>{attributes['commit-sha']}</code> }]),
        ]}
      />
    </Panel>
  )
}
