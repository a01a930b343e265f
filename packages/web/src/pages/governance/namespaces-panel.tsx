import type { v2 } from '@reeve/contract'
import { toMany } from '@reeve/sdk'
import { projectDisabledReason } from '../../actions/governance-can.ts'
import { useApiAction } from '../../data/use-act.ts'
import { useApiQuery } from '../../data/use-read.ts'
import { QueryView } from '../../parts/query-view.tsx'
import { paths } from '../../paths.ts'
import { findNamespaces } from './find.ts'
import { MemberPanel } from './member-panel.tsx'
import { useAttachNamespaceDisabledReason } from './use-namespace-giving.ts'

/** Namespaces whose jobs the policy sets of the project evaluate. */
export function NamespacesPanel({ project }: { readonly project: v2.Project }) {
  const callApi = useApiAction()
  const addDisabledReason = useAttachNamespaceDisabledReason()
  const params = { project_id: project.id }
  const namespaces = useApiQuery(['project-namespaces', project.id], (api, signal) =>
    api.v2.listProjectNamespaces({ params, signal }),
  )
  return (
    <QueryView query={namespaces} what="the namespaces">
      {({ data }) => (
        <MemberPanel
          title="Namespaces"
          label="Namespace"
          members={data.map(({ id }) => ({
            id,
            text: id,
            href: paths.jobs({ namespace: id }),
          }))}
          emptyText="No namespaces. The policy sets of this project evaluate the jobs of namespaces added here."
          disabledReason={projectDisabledReason.update(project)}
          addDisabledReason={addDisabledReason}
          queryKey={['namespaces']}
          find={(api, _text, signal) => findNamespaces(api, signal)}
          onAdd={async ({ id }) => {
            await callApi({
              call: (api) =>
                api.v2.addProjectNamespaces({ params, body: toMany('namespaces', [id]) }),
              successMessage: `The jobs of ${id} are judged by the policy sets of the project.`,
            })
          }}
          onRemove={async ({ id }) => {
            await callApi({
              call: (api) =>
                api.v2.removeProjectNamespaces({ params, body: toMany('namespaces', [id]) }),
              successMessage: `${id} is removed from the project.`,
            })
          }}
        />
      )}
    </QueryView>
  )
}
