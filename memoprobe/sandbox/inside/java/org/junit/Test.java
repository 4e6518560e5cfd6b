package org.junit;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

/** Marks a test; its time limit is the program's. */
@Retention(RetentionPolicy.RUNTIME)
public @interface Test {
    long timeout() default 0;

    Class<? extends Throwable> expected() default None.class;

    /** Stands for no exception. */
    final class None extends Throwable {}
}
