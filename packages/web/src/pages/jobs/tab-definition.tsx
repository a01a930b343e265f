import type { Job, JobSubmission } from '@reeve/contract'
import { useOptional } from '../../data/use-read.ts'
import { Editor } from '../../editor/lazy-editor.tsx'
import { Panel } from '../../parts/panel.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { hrefWith, navigate } from '../../routing/location.ts'
import { useSession } from '../../session/session.tsx'
import { jobCan } from '../../actions/job-can.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { useDraft } from './draft.ts'
import { JobEditor } from './job-editor.tsx'
import { jobAsJson, type JobSource } from './job-source.ts'
import type { JobView } from './job-view.ts'

/** The definition as it was written, and the way to a new version. */
export function DefinitionTab({ job, name, search }: JobView) {
  // Spec W: Read job submission: only where a text was sent, and only the latest six.
  const submission = useOptional(
    ['job-submission', name.namespace, name.id, job.Version],
    (api, signal) =>
      api.v1.readJobSubmission({
        params: { job_id: name.id },
        query: { namespace: name.namespace, version: job.Version },
        signal,
      }),
  )
  const isEditing = search.get('edit') === 'yes'
  return (
    <QueryView query={submission} what="the definition">
      {(found) => <Definition job={job} source={sourceOf(job, found)} isEditing={isEditing} />}
    </QueryView>
  )
}

function sourceOf(job: Job, submission: JobSubmission | null): JobSource {
  if (submission === null) return { text: jobAsJson(job), format: 'json', variables: '' }
  const flags = Object.entries(submission.VariableFlags ?? {})
  const variables = [submission.Variables, ...flags.map(([name, value]) => `${name} = ${value}`)]
  return {
    text: submission.Source,
    format: submission.Format === 'json' ? 'json' : 'hcl2',
    variables: variables.filter((line) => line !== '').join('\n'),
  }
}

interface DefinitionProps {
  readonly job: Job
  readonly source: JobSource
  readonly isEditing: boolean
}

function Definition({ job, source, isEditing }: DefinitionProps) {
  const { rights } = useSession()
  const draft = useDraft(`${job.Namespace}/${job.ID}`, source)
  const leave = () => {
    draft.discard()
    navigate(hrefWith({ edit: undefined }))
  }
  if (isEditing)
    return (
      <Panel
        title="Edit the definition"
        actions={
          <button type="button" className="button" onClick={leave}>
            {draft.isChanged ? 'Throw the changes away' : 'Leave it as it is'}
          </button>
        }
      >
        <JobEditor source={draft.source} onChange={draft.change} namespace={job.Namespace} />
      </Panel>
    )
  return (
    <Panel
      title={source.format === 'json' ? 'Definition, as JSON' : 'Definition'}
      actions={
        <ActionButton
          refusal={jobCan.edit(job, rights)}
          onAct={() => navigate(hrefWith({ edit: 'yes' }))}
        >
          Edit
        </ActionButton>
      }
      isFlush
    >
      <Editor
        label="Definition of the job"
        language={source.format === 'json' ? 'json' : 'hcl'}
        value={source.text}
        isReadOnly
      />
    </Panel>
  )
}
