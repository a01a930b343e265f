import type { Catalog } from '../catalog.ts'
import type { TaskHook, TaskHookContext } from '../task/task-hook.ts'
import { runScript } from './change-actions.ts'
import { TemplateKeeper } from './template-keeper.ts'

/** Renders the templates of a task before each start, and keeps them true while it runs. */
export function templateHook(
  catalogOf: (context: TaskHookContext) => Catalog | undefined,
): () => TaskHook {
  return () => {
    let keeper: TemplateKeeper | undefined
    let isStarted = false
    return {
      name: 'templates',
      once: false,
      applies: ({ task }) => (task.Templates ?? []).length > 0,
      async beforeStart(context) {
        // Anew for each start: the task may have been changed since.
        keeper?.close()
        keeper = new TemplateKeeper(context, catalogOf(context))
        return { env: await keeper.renderFirst(context.signal) }
      },
      async afterStart(context) {
        if (keeper === undefined) {
          keeper = new TemplateKeeper(context, catalogOf(context))
          await keeper.resume()
          isStarted = true
        }
        keeper.watch()
        if (isStarted) return
        isStarted = true
        for (const { ChangeMode, ChangeScript: script } of context.task.Templates ?? []) {
          // Not waited for: the task runs, and a script may take its time.
          if (ChangeMode === 'script' && script?.RunOnFirstRender === true) {
            void runScript(script, context)
          }
        }
      },
      close: () => keeper?.close(),
    }
  }
}
