import type { Job, JobAction } from '@reeve/contract'

/** Returns the named commands of a job, in the order of the job file. */
export function jobActions(job: Job): readonly JobAction[] {
  return job.TaskGroups.flatMap((group) =>
    group.Tasks.flatMap((task) =>
      (task.Actions ?? []).map(({ Name, Command, Args }) => ({
        Name,
        Command,
        Args,
        TaskName: task.Name,
        TaskGroupName: group.Name,
      })),
    ),
  )
}
