import type { Job, JobSubmission } from '@reeve/contract'
import { useState } from 'react'
import { jobDisabledReason } from '../../permissions/job.ts'
import { useOptionalQuery } from '../../data/api-query.ts'
import { Editor } from '../../components/lazy.tsx'
import { ActionButton } from '../../components/action-button.tsx'
import { Panel } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { hrefWith, navigate } from '../../routing/location.ts'
import { useSession } from '../../session/session.tsx'
import { type JobSource, jobToJson, useJobDraft } from './job-source.ts'
import { JobEditor } from './job-editor.tsx'
import { isEditing, type JobView } from './job-data.ts'

/** The tab with the definition of the job, and the editor for a new version. */
export function DefinitionTab({ job, search }: JobView) {
  const line = Number(search.get('line') ?? Number.NaN)
  const lineNumber = Number.isInteger(line) && line > 0 ? line : undefined
  return isEditing(search) ? (
    <EditedDefinition job={job} line={lineNumber} />
  ) : (
    <Definition job={job} />
  )
}

/** Reads the text of the job. Submissions have one only if it was sent; six are kept. */
function useSubmission({ Namespace: namespace, ID: job_id, Version: version }: Job) {
  return useOptionalQuery(['job-submission', namespace, job_id, version], (api, signal) =>
    api.v1.readJobSubmission({ params: { job_id }, query: { namespace, version }, signal }),
  )
}

function toJobSource(job: Job, submission: JobSubmission | null): JobSource {
  if (submission === null) return { text: jobToJson(job), format: 'json', variables: '' }
  const flags = Object.entries(submission.VariableFlags ?? {})
  const variables = [submission.Variables, ...flags.map(([name, value]) => `${name} = ${value}`)]
  return {
    text: submission.Source,
    format: submission.Format === 'json' ? 'json' : 'hcl2',
    variables: variables.filter((line) => line !== '').join('\n'),
  }
}

function Definition({ job }: { readonly job: Job }) {
  const submission = useSubmission(job)
  return (
    <QueryView query={submission} what="the definition">
      {(found) => <DefinitionText job={job} source={toJobSource(job, found)} />}
    </QueryView>
  )
}

interface DefinitionTextProps {
  readonly job: Job
  readonly source: JobSource
}

function DefinitionText({ job, source }: DefinitionTextProps) {
  const { permissions } = useSession()
  return (
    <Panel
      title={source.format === 'json' ? 'Definition, as JSON' : 'Definition'}
      actions={
        <ActionButton
          disabledReason={jobDisabledReason.edit(job, permissions)}
          onAction={() => navigate(hrefWith({ edit: 'yes' }))}
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

interface EditedDefinitionProps {
  readonly job: Job
  readonly line: number | undefined
}

function EditedDefinition({ job, line }: EditedDefinitionProps) {
  // The job when the editing began. `job` follows changes by others, which must not replace the
  // text that is being edited.
  const [editedJob, setEditedJob] = useState(job)
  const submission = useSubmission(editedJob)
  return (
    <QueryView query={submission} what="the definition">
      {(found) => (
        <DefinitionEditor
          job={job}
          editedJob={editedJob}
          line={line}
          source={toJobSource(editedJob, found)}
          onUseCurrentVersion={() => setEditedJob(job)}
        />
      )}
    </QueryView>
  )
}

interface DefinitionEditorProps extends EditedDefinitionProps {
  readonly editedJob: Job
  readonly source: JobSource
  readonly onUseCurrentVersion: () => void
}

function DefinitionEditor(props: DefinitionEditorProps) {
  const { job, editedJob, source, onUseCurrentVersion, line } = props
  const draft = useJobDraft(`${job.Namespace}/${job.ID}`, source)
  const stopEditing = () => {
    draft.discard()
    navigate(hrefWith({ edit: undefined }))
  }
  const useCurrentVersion = () => {
    draft.discard()
    onUseCurrentVersion()
  }
  return (
    <Panel
      title="Edit the definition"
      actions={
        <button type="button" className="button" onClick={stopEditing}>
          {draft.isChanged ? 'Discard changes' : 'Cancel'}
        </button>
      }
    >
      {job.Version !== editedJob.Version && (
        <ConflictNote
          from={editedJob.Version}
          to={job.Version}
          onUseCurrentVersion={useCurrentVersion}
        />
      )}
      <JobEditor
        source={draft.source}
        onChange={draft.change}
        onRun={draft.discard}
        namespace={job.Namespace}
        version={job.Version}
        line={line}
      />
    </Panel>
  )
}

interface ConflictNoteProps {
  readonly from: number
  readonly to: number
  readonly onUseCurrentVersion: () => void
}

function ConflictNote({ from, to, onUseCurrentVersion }: ConflictNoteProps) {
  return (
    <div className="note tone-warn" role="alert">
      <p>
        The job was updated while you were editing: version {from} is now version {to}. Your text is
        kept. Plan it to see the differences.
      </p>
      <div className="row">
        <ActionButton onAction={onUseCurrentVersion}>Load current version</ActionButton>
      </div>
    </div>
  )
}
